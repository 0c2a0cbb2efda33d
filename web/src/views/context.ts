import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Issue } from '../state/answer.ts';
import type { Catalogue } from '../state/catalogue.ts';
import type { Draft } from '../state/draft.ts';
import type { JsonObject } from '../state/json.ts';

export type PresetPart = '/model' | '/cluster' | '/software' | '/cluster/accelerator';

/** What every input needs: the draft, the engine's resolution of it, and what is wrong with it. */
export interface Form {
  catalogue: Catalogue;
  draft: Draft;
  resolved: JsonObject | undefined;
  issues: Issue[];
  setText: (pointer: string, text: string) => void;
  reset: (pointer: string) => void;
  choose: (part: PresetPart, id: string) => void;
}

export const FormContext = createContext<Form | undefined>(undefined);

export function useForm(): Form {
  const form = useContext(FormContext);
  if (!form) throw new Error('no form around this view');
  return form;
}

export const fieldId = (pointer: string): string => `f${pointer.replace(/\//g, '-')}`;

/** The messages that belong to one field: its own path, or a path inside of it. */
export const issuesOf = (issues: Issue[], pointer: string): Issue[] =>
  issues.filter((issue) => issue.path === pointer || issue.path.startsWith(`${pointer}/`));
