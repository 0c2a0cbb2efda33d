// What the user has put in: a request, and over it the texts of the fields as typed, right or wrong.
import type { Issue } from './answer.ts';
import { fieldAt, readField, writeField, type Field } from './fields.ts';
import { difference, getAt, isObject, setAt, type Json, type JsonObject } from './json.ts';
import { t } from '../i18n/index.ts';

export interface Draft {
  /** Presets and values from a link or a file. Parts that no field shows are kept and sent as they are. */
  readonly base: JsonObject;
  /** By JSON pointer. */
  readonly texts: Readonly<Record<string, string>>;
}

export const defaultDraft: Draft = {
  base: {
    version: 1,
    model: { preset: 'llama-3-70b' },
    cluster: { preset: 'dgx-h100', devices: 64 },
    job: { sequenceLength: 8192, globalBatchSequences: 256, precision: 'bf16' },
    software: { profile: 'megatron-core-2025' },
    top: 10,
  },
  texts: {},
};

export interface Built {
  request: JsonObject;
  issues: Issue[];
}

export function buildRequest(draft: Draft): Built {
  let request = draft.base;
  const issues: Issue[] = [];
  for (const [pointer, text] of Object.entries(draft.texts)) {
    const field = fieldAt.get(pointer);
    if (!field) {
      request = setAt(request, pointer, text);
      continue;
    }
    const read = readField(field, text);
    if (read.ok) request = setAt(request, pointer, read.value);
    else issues.push({ code: read.reason, path: pointer, message: t(read.reason), severity: 'error' });
  }
  return { request, issues };
}

export const setText = (draft: Draft, pointer: string, text: string): Draft => ({ ...draft, texts: { ...draft.texts, [pointer]: text } });

/** Back to the preset's own value, or to the default. */
export function resetField(draft: Draft, pointer: string): Draft {
  const texts = { ...draft.texts };
  delete texts[pointer];
  return { base: setAt(draft.base, pointer, undefined), texts };
}

/** Another preset: what was edited on the old one goes, other inputs stay. */
export function choosePreset(draft: Draft, part: '/model' | '/cluster' | '/software' | '/cluster/accelerator', id: string): Draft {
  const texts = Object.fromEntries(
    Object.entries(draft.texts).filter(([pointer]) => !pointer.startsWith(`${part}/`) || pointer === '/cluster/devices'),
  );
  if (part === '/cluster') {
    const devices = getAt(draft.base, '/cluster/devices');
    return { base: { ...draft.base, cluster: { preset: id, ...(devices === undefined ? {} : { devices }) } }, texts };
  }
  return { base: setAt(draft.base, part, part === '/software' ? { profile: id } : { preset: id }), texts };
}

export const draftValue = (draft: Draft, pointer: string): Json | undefined => getAt(buildRequest(draft).request, pointer);

export interface Shown {
  text: string;
  edited: boolean; // stated by the user or a link, not by the preset
}

/** What a field shows: what was typed, else the value of link or file, else the engine's resolved value. */
export function shownText(draft: Draft, resolved: JsonObject | undefined, field: Field): Shown {
  const typed = draft.texts[field.pointer];
  if (typed !== undefined) return { text: typed, edited: true };
  const own = getAt(draft.base, field.pointer);
  if (own !== undefined) return { text: writeField(field, own), edited: true };
  return { text: writeField(field, getAt(resolved, field.pointer)), edited: false };
}

/** The request reduced to its presets, whose resolved form tells which values of a full request are edits. */
export function presetSkeleton(request: JsonObject): JsonObject {
  const model = getAt(request, '/model/preset');
  const cluster = getAt(request, '/cluster/preset');
  const accelerator = getAt(request, '/cluster/accelerator/preset') ?? getAt(request, '/cluster/accelerator');
  const profile = getAt(request, '/software/profile');
  const skeleton: JsonObject = { ...request };
  if (typeof model === 'string' && model !== '') skeleton.model = { preset: model };
  if (typeof profile === 'string' && profile !== '') skeleton.software = { profile };
  if (typeof cluster === 'string' && cluster !== '') {
    skeleton.cluster = {
      preset: cluster,
      ...(typeof accelerator === 'string' && accelerator !== '' ? { accelerator: { preset: accelerator } } : {}),
      devices: getAt(request, '/cluster/devices') ?? null,
    };
  }
  return skeleton;
}

/**
 * A draft that asks for exactly `request`, with presets as presets and only the differences as edits.
 * `skeletonResolved` is the engine's resolution of `presetSkeleton(request)`; without it every value is an edit.
 * `clusterAccelerator` is the id of the accelerator that the cluster preset has by itself.
 */
export function draftFromRequest(request: JsonObject, skeletonResolved: JsonObject | undefined, clusterAccelerator?: string): Draft {
  if (!skeletonResolved) return { base: request, texts: {} };
  const skeleton = presetSkeleton(request);
  const base: JsonObject = { ...request };
  for (const part of ['model', 'cluster', 'software'] as const) {
    const asked = request[part];
    const start = skeleton[part];
    if (!isObject(asked) || !isObject(start) || start === asked) continue;
    const edits = difference(asked, skeletonResolved[part]);
    let merged: JsonObject = { ...start };
    if (isObject(edits)) merged = merge(merged, edits);
    base[part] = merged;
  }
  // The cluster's own accelerator need not be named.
  const own = getAt(base, '/cluster/accelerator');
  const same = isObject(own) && Object.keys(own).length === 1 && own.preset === clusterAccelerator;
  return { base: same ? setAt(base, '/cluster/accelerator', undefined) : base, texts: {} };
}

function merge(under: JsonObject, over: JsonObject): JsonObject {
  const out: JsonObject = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const old = out[key];
    out[key] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return out;
}

/** Number of edits under one part of the request, presets and devices aside. */
export function countEdits(draft: Draft, part: '/model' | '/cluster' | '/software'): number {
  let count = 0;
  for (const [pointer, field] of fieldAt) {
    if (!pointer.startsWith(`${part}/`) || pointer === '/cluster/devices') continue;
    if (draft.texts[field.pointer] !== undefined || getAt(draft.base, pointer) !== undefined) count++;
  }
  return count;
}
