// Copies and files. What cannot be copied is shown for copying by hand.
import { useRef, useState } from 'preact/hooks';
import { t } from '../i18n/index.ts';

interface ShareProps {
  makeLink: () => Promise<string>;
  makeRequest: () => string;
  makeAnswer: () => string;
  openFile: (file: File) => void;
}

export function Share({ makeLink, makeRequest, makeAnswer, openFile }: ShareProps) {
  const [message, setMessage] = useState('');
  const [text, setText] = useState<string | undefined>(undefined);
  const file = useRef<HTMLInputElement>(null);

  const copy = async (value: string | Promise<string>, done: (value: string) => string): Promise<void> => {
    const content = await value;
    try {
      await navigator.clipboard.writeText(content);
      setText(undefined);
      setMessage(done(content));
    } catch {
      setText(content);
      setMessage(t('share.refused'));
    }
  };
  const link = (value: string): string =>
    t('share.copiedLink', { n: value.length.toLocaleString('en') }) + (value.length > 1800 ? ` ${t('share.long')}` : '');

  return (
    <div class="share" role="group" aria-label={t('share.title')}>
      <button type="button" class="primary" onClick={() => void copy(makeLink(), link)}>
        {t('share.link')}
      </button>
      <button type="button" onClick={() => void copy(makeRequest(), () => t('share.copiedRequest'))}>
        {t('share.request')}
      </button>
      <button type="button" onClick={() => void copy(makeAnswer(), () => t('share.copiedAnswer'))}>
        {t('share.answer')}
      </button>
      <button type="button" onClick={() => file.current?.click()}>
        {t('share.open')}
      </button>
      <input
        ref={file}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        accept=".json,application/json"
        aria-label={t('share.open')}
        onChange={(event) => {
          const chosen = event.currentTarget.files?.[0];
          if (chosen) openFile(chosen);
          event.currentTarget.value = '';
        }}
      />
      <span class="share-note" role="status">
        {message}
      </span>
      {text !== undefined && <textarea class="share-text" readOnly rows={4} aria-label={t('share.text')} value={text} onFocus={(event) => event.currentTarget.select()} />}
    </div>
  );
}
