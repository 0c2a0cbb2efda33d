// The only file that touches the WebAssembly module.
import createEngine, { type CatalogueAnswer, type MeshwiseModule, type SearchState } from '#engine';
import { protocolVersion, type FromWorker, type ToWorker } from './protocol.ts';

// Long enough to spend little on messages, short enough that a cancel or a newer search is seen at once.
const sliceMs = 30;
const firstBudget = 256;

const post = (message: FromWorker): void => self.postMessage(message);

const stderr: string[] = [];
const keepLine = (line: string): void => {
  stderr.push(line);
  if (stderr.length > 20) stderr.shift();
};
const loading = createEngine({ printErr: keepLine, print: keepLine });

let engine: MeshwiseModule | undefined;
let engineVersion = '';
let current = 0; // id of the running search; 0 = none
let stopped = false; // the running search was asked to stop

// One macrotask, so that messages can arrive. A channel is not held back to 4 ms as nested timers are.
const channel = new MessageChannel();
const waiting: (() => void)[] = []; // more than one when a newer search starts between two slices of an older one
channel.port1.onmessage = () => waiting.shift()?.();
const yieldTask = (): Promise<void> =>
  new Promise((done) => {
    waiting.push(done);
    channel.port2.postMessage(0);
  });

async function search(id: number, request: string): Promise<void> {
  const start = performance.now();
  current = id;
  stopped = false;
  const job = new engine!.SearchJob(request);
  try {
    let budget = firstBudget;
    let reported = start;
    for (;;) {
      const before = performance.now();
      const state = JSON.parse(job.step(Math.round(budget))) as SearchState;
      const after = performance.now();
      if (state.done || (stopped && current === id)) break;
      // Aim at sliceMs, but never jump by more than a factor of 8.
      budget = Math.min(budget * 8, Math.max(1, (budget * sliceMs) / Math.max(after - before, 0.1)));
      if (after - reported > 100) {
        reported = after;
        post({ type: 'progress', id, progress: state.progress, elapsedMs: after - start });
      }
      await yieldTask();
      if (current !== id) return post({ type: 'superseded', id });
    }
    post({ type: 'result', id, answer: job.take(), elapsedMs: performance.now() - start });
    current = 0;
  } finally {
    job.delete(); // Embind objects are not collected
  }
}

async function handle(message: ToWorker): Promise<void> {
  switch (message.type) {
    case 'init': {
      engine = await loading;
      engineVersion = engine.apiVersion();
      const answer = JSON.parse(engine.loadCatalogue(message.catalogue)) as CatalogueAnswer;
      if (!answer.ok) throw new Error(`the catalogue was refused: ${answer.issues.map((i) => `${i.path} ${i.message}`).join('; ')}`);
      return post({ type: 'ready', id: message.id, v: protocolVersion, engineVersion });
    }
    case 'call': {
      const start = performance.now();
      const answer = engine![message.method](message.request);
      return post({ type: 'result', id: message.id, answer, elapsedMs: performance.now() - start });
    }
    case 'search':
      return search(message.id, message.request);
    case 'cancel':
      if (message.target === current) stopped = true;
      return;
    default:
      message satisfies never;
      throw new Error(`unknown message ${JSON.stringify(message)}`);
  }
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  handle(data).catch((error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    post({ type: 'crashed', id: data.id, message: text, stderr, engineVersion });
  });
};
