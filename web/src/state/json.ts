// JSON values addressed by JSON pointers (RFC 6901). Values are never changed in place.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replace(/~1/g, '/').replace(/~0/g, '~'));

export function getAt(root: unknown, pointer: string): Json | undefined {
  let value: unknown = root;
  for (const key of keysOf(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value as Json | undefined;
}

function setKeys(root: Json | undefined, keys: string[], value: Json | undefined): Json | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  const copy: JsonObject = isObject(root) ? { ...root } : {};
  const child = setKeys(Object.hasOwn(copy, key) ? copy[key] : undefined, rest, value);
  if (child === undefined) delete copy[key];
  else Object.defineProperty(copy, key, { value: child, enumerable: true, writable: true, configurable: true });
  return Object.keys(copy).length === 0 && value === undefined ? undefined : copy;
}

/** `root` with the value at `pointer` replaced; `undefined` removes it, and objects that become empty with it. */
export function setAt(root: JsonObject, pointer: string, value: Json | undefined): JsonObject {
  return (setKeys(root, keysOf(pointer), value) as JsonObject | undefined) ?? {};
}

/** Same JSON value. Key order does not matter. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  return a === b;
}

/** The part of `value` that differs from `base`, leaf by leaf; arrays are leaves. `undefined` when nothing does. */
export function difference(value: Json | undefined, base: Json | undefined): Json | undefined {
  if (sameJson(value, base)) return undefined;
  if (!isObject(value) || !isObject(base)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const part = difference(value[key], Object.hasOwn(base, key) ? base[key] : undefined);
    if (part !== undefined) out[key] = part;
  }
  return Object.keys(out).length > 0 ? out : undefined;
}
