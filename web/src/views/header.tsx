import { useState } from 'preact/hooks';
import { t, type MessageKey } from '../i18n/index.ts';

type Theme = 'auto' | 'light' | 'dark';
const themes: readonly Theme[] = ['auto', 'light', 'dark'];
const storageKey = 'meshwise-theme'; // theme.js reads it before the first paint

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return themes.find((theme) => theme === stored) ?? 'auto';
  } catch {
    return 'auto'; // storage is refused in some frames
  }
}

function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'auto') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // the choice then lasts as long as the page
  }
}

const icons: Record<Theme, string> = {
  auto: 'M3 3.5h10v7H3zM6 13h4M8 10.5V13',
  light: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3.05 3.05l1.13 1.13M11.82 11.82l1.13 1.13M3.05 12.95l1.13-1.13M11.82 4.18l1.13-1.13',
  dark: 'M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8 5.6 5.6 0 1 0 13.2 9.6z',
};

export function Logo() {
  return (
    <svg class="logo" width="28" height="28" viewBox="0 0 28 28" aria-hidden="true" focusable="false">
      <g stroke="currentColor" stroke-width="1.6">
        <path d="M5 5h18v18H5zM5 14h18M14 5v18" fill="none" opacity="0.45" />
      </g>
      <g fill="currentColor">
        <circle cx="5" cy="5" r="2.6" />
        <circle cx="14" cy="5" r="2.6" />
        <circle cx="23" cy="5" r="2.6" />
        <circle cx="5" cy="14" r="2.6" />
        <circle class="logo-hub" cx="14" cy="14" r="3.4" />
        <circle cx="23" cy="14" r="2.6" />
        <circle cx="5" cy="23" r="2.6" />
        <circle cx="14" cy="23" r="2.6" />
        <circle cx="23" cy="23" r="2.6" />
      </g>
    </svg>
  );
}

export function Header() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  return (
    <header class="site">
      <div class="brand">
        <Logo />
        <h1>{t('app.name')}</h1>
      </div>
      <p class="promise">{t('app.promise')}</p>
      <div class="site-tools">
        <button
          type="button"
          class="quiet"
          onClick={() => {
            const how = document.getElementById('how');
            how?.scrollIntoView();
            how?.focus({ preventScroll: true });
          }}
        >
          {t('app.how')}
        </button>
        <fieldset class="themes">
          <legend class="visually-hidden">{t('theme.label')}</legend>
          {themes.map((option) => (
            <label title={t(`theme.${option}` as MessageKey)}>
              <input
                type="radio"
                name="theme"
                value={option}
                checked={theme === option}
                onChange={() => {
                  setTheme(option);
                  applyTheme(option);
                }}
              />
              <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
                <path d={icons[option]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
              </svg>
              <span class="visually-hidden">{t(`theme.${option}` as MessageKey)}</span>
            </label>
          ))}
        </fieldset>
      </div>
    </header>
  );
}
