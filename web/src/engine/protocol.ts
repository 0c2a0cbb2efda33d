// Messages between the page and the worker: one discriminated union each way, joined by `id`.

export const protocolVersion = 1;

export type CallMethod = 'validate' | 'estimate' | 'explain';

export type ToWorker =
  | { type: 'init'; id: number; v: number; catalogue: string }
  | { type: 'call'; id: number; method: CallMethod; request: string }
  | { type: 'search'; id: number; request: string }
  // Stops the search `target`; it answers with the best plans so far.
  | { type: 'cancel'; id: number; target: number };

export type FromWorker =
  | { type: 'ready'; id: number; v: number; engineVersion: string }
  | { type: 'result'; id: number; answer: string; elapsedMs: number }
  | { type: 'progress'; id: number; progress: number; elapsedMs: number }
  // A newer search took the place of this one.
  | { type: 'superseded'; id: number }
  // Something escaped from the module: this instance is dead.
  | { type: 'crashed'; id: number; message: string; stderr: string[]; engineVersion: string };
