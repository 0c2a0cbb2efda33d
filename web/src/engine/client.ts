// The page's side of the worker: calls as promises, newest search wins, a dead worker is replaced.
import { protocolVersion, type CallMethod, type FromWorker, type ToWorker } from './protocol.ts';

export interface WorkerLike {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onmessageerror: ((event: MessageEvent) => void) | null;
}

/** The engine died under this call. The next call gets a new one. */
export class EngineCrashed extends Error {}
/** A newer search took this one's place; its answer must not be shown. */
export class Superseded extends Error {}

export interface Reply {
  answer: unknown;
  elapsedMs: number;
}

interface Pending {
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
  onProgress?: (progress: number) => void;
  search: boolean;
}

export interface ClientOptions {
  makeWorker: () => WorkerLike;
  catalogue: string;
  onReady?: (engineVersion: string) => void;
  onCrash?: (message: string) => void;
  /** A worker that says nothing for so long while work is pending counts as dead. Milliseconds. */
  silenceMs?: number;
  /** The same until the module is loaded. */
  startMs?: number;
}

export class EngineClient {
  private worker: WorkerLike | undefined;
  private ready = false;
  private queue: ToWorker[] = [];
  private pending = new Map<number, Pending>();
  private nextId = 1;
  private latestSearch = 0;
  private watch: ReturnType<typeof setTimeout> | undefined;
  private readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
    this.start();
  }

  call(method: CallMethod, request: unknown): Promise<Reply> {
    const id = this.nextId++;
    return this.send({ type: 'call', id, method, request: JSON.stringify(request) }, false);
  }

  /** Ranks strategies. An older search that still runs is rejected with Superseded. */
  search(request: unknown, onProgress?: (progress: number) => void): Promise<Reply> {
    for (const [id, entry] of this.pending) {
      if (!entry.search) continue;
      this.pending.delete(id);
      entry.reject(new Superseded());
    }
    this.queue = this.queue.filter((message) => message.type !== 'search');
    const id = this.nextId++;
    this.latestSearch = id;
    return this.send({ type: 'search', id, request: JSON.stringify(request) }, true, onProgress);
  }

  /** Asks the running search for its best so far. */
  stopSearch(): void {
    if (this.pending.has(this.latestSearch)) this.dispatch({ type: 'cancel', id: this.nextId++, target: this.latestSearch });
  }

  close(): void {
    clearTimeout(this.watch);
    this.worker?.terminate();
    this.worker = undefined;
  }

  private send(message: ToWorker, search: boolean, onProgress?: (progress: number) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.pending.set(message.id, { resolve, reject, onProgress, search });
      if (!this.worker) this.start();
      this.dispatch(message);
    });
  }

  private dispatch(message: ToWorker): void {
    if (this.ready) {
      this.worker!.postMessage(message);
      this.rearm();
    } else {
      this.queue.push(message);
    }
  }

  private start(): void {
    this.ready = false;
    let worker: WorkerLike;
    try {
      worker = this.options.makeWorker();
    } catch (error) {
      queueMicrotask(() => this.crash(String(error)));
      return;
    }
    this.worker = worker;
    worker.onmessage = ({ data }) => worker === this.worker && this.receive(data);
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (worker === this.worker) this.crash(event.message || 'the worker could not be loaded');
    };
    worker.onmessageerror = () => worker === this.worker && this.crash('a message could not be read');
    worker.postMessage({ type: 'init', id: 0, v: protocolVersion, catalogue: this.options.catalogue });
    this.rearm();
  }

  private receive(message: FromWorker): void {
    switch (message.type) {
      case 'ready': {
        if (message.v !== protocolVersion) return this.crash('page and engine are of different releases; reload the page');
        this.ready = true;
        this.options.onReady?.(message.engineVersion);
        const queued = this.queue;
        this.queue = [];
        for (const entry of queued) this.worker!.postMessage(entry);
        break;
      }
      case 'result': {
        const entry = this.pending.get(message.id);
        this.pending.delete(message.id);
        entry?.resolve({ answer: JSON.parse(message.answer), elapsedMs: message.elapsedMs });
        break;
      }
      case 'progress':
        this.pending.get(message.id)?.onProgress?.(message.progress);
        break;
      case 'superseded':
        this.pending.get(message.id)?.reject(new Superseded());
        this.pending.delete(message.id);
        break;
      case 'crashed':
        return this.crash([message.message, ...message.stderr].join('\n'));
      default:
        message satisfies never;
        return this.crash('unknown message from the engine');
    }
    this.rearm();
  }

  private rearm(): void {
    clearTimeout(this.watch);
    if (this.ready && this.pending.size === 0) return;
    const limit = this.ready ? (this.options.silenceMs ?? 8000) : (this.options.startMs ?? 60000);
    this.watch = setTimeout(() => this.crash('the engine stopped answering'), limit);
  }

  // The worker is not restarted here but by the next call: a module that cannot load must not be retried in a loop.
  private crash(message: string): void {
    clearTimeout(this.watch);
    this.worker?.terminate();
    this.worker = undefined;
    this.ready = false;
    this.queue = [];
    const pending = [...this.pending.values()];
    this.pending.clear();
    for (const entry of pending) entry.reject(new EngineCrashed(message));
    this.options.onCrash?.(message);
  }
}
