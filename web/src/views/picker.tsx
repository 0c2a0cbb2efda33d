// A searchable list of presets: the ARIA combobox pattern with a listbox popup.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { Preset } from '../state/catalogue.ts';
import { t, type MessageKey } from '../i18n/index.ts';

interface PickerProps {
  label: string;
  presets: ReadonlyMap<string, Preset>;
  value: string; // id, '' = none
  custom?: string; // name shown when there is no preset
  describe: (preset: Preset) => string;
  onChoose: (id: string) => void;
  error?: string;
  id: string;
}

export function Badge({ status }: { status: Preset['status'] }) {
  if (status === 'sourced') return null;
  return (
    <span class={`badge badge-${status}`} title={t(`provenance.${status}Long` as MessageKey)}>
      {t(`provenance.${status}` as MessageKey)}
    </span>
  );
}

const words = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[\s\-_.]+/)
    .filter(Boolean);

function search(presets: Preset[], query: string): Preset[] {
  const wanted = words(query);
  if (wanted.length === 0) return presets;
  return presets.filter((preset) => {
    const text = `${preset.id} ${preset.name} ${preset.group}`.toLowerCase();
    const squeezed = text.replace(/[\s\-_.]+/g, '');
    return wanted.every((word) => text.includes(word) || squeezed.includes(word));
  });
}

export function Picker({ label, presets, value, custom, describe, onChoose, error, id }: PickerProps) {
  const listId = useId();
  const [query, setQuery] = useState<string | undefined>(undefined); // undefined = closed
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const chosen = presets.get(value);
  const all = useMemo(() => [...presets.values()], [presets]);
  const hits = useMemo(() => (query === undefined ? [] : search(all, query)), [all, query]);
  const open = query !== undefined;
  const optionId = (index: number): string => `${listId}-${index}`;

  useEffect(() => {
    if (open) list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [open, active, hits]);

  const show = (text = ''): void => {
    setQuery(text);
    setActive(text === '' ? Math.max(0, all.findIndex((preset) => preset.id === value)) : 0);
  };
  const close = (): void => setQuery(undefined);
  const choose = (preset: Preset | undefined): void => {
    close();
    if (preset && preset.id !== value) onChoose(preset.id);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in move && !event.altKey) {
      event.preventDefault();
      if (!open) show();
      else setActive(Math.min(hits.length - 1, Math.max(0, active + move[event.key]!)));
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      choose(hits[active]);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      close();
    } else if (event.key === 'Tab') {
      close();
    }
  };

  const shown = query !== undefined && query !== '' ? query : open ? '' : (chosen?.name ?? custom ?? value);
  return (
    <div class="field picker">
      <div class="field-label">
        <label for={id}>{label}</label>
        {chosen && <Badge status={chosen.status} />}
      </div>
      <div class="input-wrap">
        <input
          ref={input}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={open}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={open && hits.length > 0 ? optionId(active) : undefined}
          aria-invalid={error ? 'true' : undefined}
          aria-describedby={`${id}-note`}
          autocomplete="off"
          spellcheck={false}
          placeholder={open ? (chosen?.name ?? t('picker.placeholder', { count: all.length })) : undefined}
          value={shown}
          onInput={(event) => show(event.currentTarget.value)}
          onClick={() => !open && show()}
          onKeyDown={onKeyDown}
          onBlur={close}
        />
        <svg class="chevron" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M4 6l4 4 4-4" fill="none" stroke="currentColor" stroke-width="1.5" />
        </svg>
      </div>
      <ul ref={list} id={listId} role="listbox" aria-label={label} class="options" hidden={!open} onMouseDown={(event) => event.preventDefault()}>
        {open &&
          hits.map((preset, index) => (
            <li
              key={preset.id}
              id={optionId(index)}
              role="option"
              aria-selected={index === active}
              class={preset.id === value ? 'current' : undefined}
              onClick={() => choose(preset)}
            >
              <span class="option-name">
                {preset.name} <Badge status={preset.status} />
              </span>
              <span class="option-about">{describe(preset)}</span>
            </li>
          ))}
        {open && hits.length === 0 && (
          <li class="option-none" role="option" aria-disabled="true" aria-selected="false">
            {t('picker.none', { query: query ?? '' })}
          </li>
        )}
      </ul>
      <p class="field-note" id={`${id}-note`}>
        {error ? <span class="error">{error}</span> : chosen ? describe(chosen) : ''}
      </p>
    </div>
  );
}
