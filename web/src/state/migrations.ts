// Share links carry the number of their format. Each migration turns format n into n + 1; old links open for ever.
import { isObject, type JsonObject } from './json.ts';

export const linkFormat = 1;

const migrations: Record<number, (payload: JsonObject) => JsonObject> = {};

export function migrate(format: number, payload: JsonObject): JsonObject | undefined {
  if (format < 1 || format > linkFormat) return undefined;
  let current = payload;
  for (let n = format; n < linkFormat; n++) {
    const step = migrations[n];
    if (!step) return undefined;
    current = step(current);
  }
  return isObject(current.request) ? current : undefined;
}
