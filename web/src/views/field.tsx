// One labelled input: text kept as typed, the value read echoed, the message beside it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readField, writeField, type Field } from '../state/fields.ts';
import { shownText } from '../state/draft.ts';
import type { Json } from '../state/json.ts';
import { formatCount } from '../state/format.ts';
import { choiceLabel } from './labels.ts';
import { t, type MessageKey } from '../i18n/index.ts';
import { fieldId, issuesOf, useForm } from './context.ts';

interface FieldProps {
  field: Field;
  unit?: MessageKey;
  placeholder?: string;
  source?: string;
  resettable?: boolean; // offers the way back to the preset's value
}

/** What the typed text was read as, when that is not plain from the text itself. */
function echoOf(field: Field, text: string, unit: string): string {
  if (field.kind.type !== 'quantity' || text.trim() === '') return '';
  const read = readField(field, text);
  if (!read.ok || typeof read.value !== 'number') return '';
  const value = read.value;
  if (field.kind.quantity === 'count') return /[^\d]/.test(text.trim()) ? `= ${formatCount(value)}${unit ? ` ${unit}` : ''}` : '';
  const written = writeField(field, value);
  return written === text.trim() ? '' : `= ${written}`;
}

function Messages({ id, errors, echo, source }: { id: string; errors: string[]; echo: string; source?: string }) {
  return (
    <div class="field-note">
      <span id={`${id}-note`}>
        {errors.length > 0 ? errors.map((message) => <span class="error">{message}</span>) : echo && <span class="echo">{echo}</span>}
      </span>
      {source && (
        <details class="source">
          <summary>{t('inputs.source')}</summary>
          <p>{source}</p>
        </details>
      )}
    </div>
  );
}

export function FieldView({ field, unit, placeholder, source, resettable }: FieldProps) {
  const form = useForm();
  const { text, edited } = shownText(form.draft, form.resolved, field);
  const id = fieldId(field.pointer);
  const label = t(field.label);
  const errors = issuesOf(form.issues, field.pointer)
    .filter((issue) => issue.severity === 'error')
    .map((issue) => issue.message);
  const invalid = errors.length > 0;
  const describe = { 'aria-invalid': invalid ? ('true' as const) : undefined, 'aria-describedby': `${id}-note` };
  const change = (value: string): void => form.setText(field.pointer, value);
  const reset = resettable && edited && (
    <button type="button" class="reset" onClick={() => form.reset(field.pointer)} aria-label={`${t('inputs.resetShort')}: ${label}`}>
      {t('inputs.resetShort')}
    </button>
  );

  if (field.kind.type === 'switch') {
    return (
      <div class={`field field-switch${edited && resettable ? ' edited' : ''}`}>
        <label for={id}>
          <input id={id} type="checkbox" checked={text === 'true'} {...describe} onChange={(event) => change(String(event.currentTarget.checked))} />
          <span>{label}</span>
        </label>
        {reset}
        <Messages id={id} errors={errors} echo="" source={source} />
      </div>
    );
  }

  if (field.kind.type === 'set') {
    const chosen = text === '' ? [] : (JSON.parse(text) as Json[]);
    const options = field.kind.options;
    return (
      <fieldset class="field field-set" id={id} tabIndex={-1}>
        <legend>{label}</legend>
        <div class="chips">
          {options.map((option) => (
            <label class="chip">
              <input
                type="checkbox"
                checked={chosen.includes(option)}
                onChange={(event) => {
                  const next = options.filter((o) => (o === option ? event.currentTarget.checked : chosen.includes(o)));
                  change(JSON.stringify(next));
                }}
              />
              <span>{choiceLabel(field.pointer, String(option))}</span>
            </label>
          ))}
        </div>
        <Messages id={id} errors={errors} echo="" />
      </fieldset>
    );
  }

  const unitText = unit ? t(unit) : '';
  return (
    <div class={`field${edited && resettable ? ' edited' : ''}`}>
      <div class="field-label">
        <label for={id}>{label}</label>
        {reset}
      </div>
      {field.kind.type === 'choice' ? (
        <select id={id} value={text} {...describe} onChange={(event) => change(event.currentTarget.value)}>
          {!field.kind.options.includes(text) && <option value={text}>{text}</option>}
          {field.kind.options.map((option) => (
            <option value={option}>{choiceLabel(field.pointer, option)}</option>
          ))}
        </select>
      ) : (
        <div class="input-wrap">
          <input
            id={id}
            type="text"
            inputMode="decimal"
            autocomplete="off"
            spellcheck={false}
            value={text}
            placeholder={placeholder}
            {...describe}
            onInput={(event) => change(event.currentTarget.value)}
          />
          {unitText && <span class="unit" aria-hidden="true">{unitText}</span>}
        </div>
      )}
      <Messages id={id} errors={errors} echo={echoOf(field, text, unitText)} source={source} />
    </div>
  );
}

interface FoldedProps {
  title: string;
  badge?: string;
  problems?: number; // opens by itself when there are some
  onOpen?: () => void;
  children: () => ComponentChildren; // made when first opened
}

export function Folded({ title, badge, problems = 0, onOpen, children }: FoldedProps) {
  const [opened, setOpened] = useState(false);
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (problems > 0 && element.current) element.current.open = true;
  }, [problems > 0]);
  return (
    <details
      ref={element}
      class="fold"
      onToggle={(event) => {
        if (!event.currentTarget.open) return;
        setOpened(true);
        onOpen?.();
      }}
    >
      <summary>
        <span class="fold-title">{title}</span>
        {problems > 0 && <span class="count bad">{problems === 1 ? t('inputs.problems.one') : t('inputs.problems.many', { n: problems })}</span>}
        {badge && <span class="count">{badge}</span>}
      </summary>
      {opened && <div class="fold-body">{children()}</div>}
    </details>
  );
}
