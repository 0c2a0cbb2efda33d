import { render } from 'preact';
import catalogueUrl from '#catalogue?url';
import { App } from './app.tsx';
import { EngineClient } from './engine/client.ts';
import { readCatalogue } from './state/catalogue.ts';
import { t } from './i18n/index.ts';

async function start(root: HTMLElement): Promise<void> {
  const response = await fetch(catalogueUrl);
  if (!response.ok) throw new Error(`${response.status}`);
  const text = await response.text();
  const crashListeners: ((message: string) => void)[] = [];
  const client = new EngineClient({
    catalogue: text,
    makeWorker: () => new Worker(new URL('./engine/worker.ts', import.meta.url), { type: 'module' }),
    onCrash: (message) => crashListeners.forEach((listener) => listener(message)),
  });
  const catalogue = readCatalogue(text);
  root.textContent = '';
  render(<App client={client} catalogue={catalogue} onCrash={(listener) => void crashListeners.push(listener)} />, root);
}

const root = document.getElementById('app')!;
start(root).catch(() => {
  const message = document.createElement('p');
  message.setAttribute('role', 'alert');
  message.className = 'load-failed';
  message.textContent = t('load.failed');
  root.append(message);
});
