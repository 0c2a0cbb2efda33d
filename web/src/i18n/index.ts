import { en, type MessageKey } from './en.ts';

export type { MessageKey };

// One dictionary today; a second one with the same keys makes a second language.
const messages: Record<MessageKey, string> = en;

/** The text of `key` with `{name}` replaced from `params`. */
export function t(key: MessageKey, params: Record<string, string | number> = {}): string {
  return messages[key].replace(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(params, name) ? String(params[name]) : whole));
}

export const hasMessage = (key: string): key is MessageKey => Object.hasOwn(messages, key);
