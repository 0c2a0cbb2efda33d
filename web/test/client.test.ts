import { expect, test, vi } from 'vitest';
import { EngineClient, EngineCrashed, Superseded, type WorkerLike } from '../src/engine/client.ts';
import type { FromWorker, ToWorker } from '../src/engine/protocol.ts';

class FakeWorker implements WorkerLike {
  sent: ToWorker[] = [];
  terminated = false;
  onmessage: WorkerLike['onmessage'] = null;
  onerror: WorkerLike['onerror'] = null;
  onmessageerror: WorkerLike['onmessageerror'] = null;
  postMessage(message: ToWorker) {
    this.sent.push(message);
  }
  terminate() {
    this.terminated = true;
  }
  say(message: FromWorker) {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }
}

function setUp() {
  const workers: FakeWorker[] = [];
  const onCrash = vi.fn();
  const client = new EngineClient({
    makeWorker: () => {
      const worker = new FakeWorker();
      workers.push(worker);
      return worker;
    },
    catalogue: '{}',
    onCrash,
  });
  const ready = (worker: FakeWorker) => worker.say({ type: 'ready', id: worker.sent[0]!.id, v: 1, engineVersion: '0.1.0' });
  return { client, workers, onCrash, ready };
}

test('an answer reaches its call, whatever the order', async () => {
  const { client, workers, ready } = setUp();
  ready(workers[0]!);
  const first = client.call('validate', { a: 1 });
  const second = client.call('estimate', { b: 2 });
  const [one, two] = workers[0]!.sent.filter((message) => message.type === 'call');
  workers[0]!.say({ type: 'result', id: two!.id, answer: '{"n":2}', elapsedMs: 1 });
  workers[0]!.say({ type: 'result', id: one!.id, answer: '{"n":1}', elapsedMs: 1 });
  expect((await first).answer).toEqual({ n: 1 });
  expect((await second).answer).toEqual({ n: 2 });
});

test('a newer search takes the place of the older', async () => {
  const { client, workers, ready } = setUp();
  ready(workers[0]!);
  const older = client.search({ a: 1 });
  const stale = expect(older).rejects.toBeInstanceOf(Superseded);
  const newer = client.search({ a: 2 });
  await stale;
  const message = workers[0]!.sent.filter((sent) => sent.type === 'search').at(-1)!;
  workers[0]!.say({ type: 'result', id: message.id, answer: '{"ok":1}', elapsedMs: 1 });
  expect((await newer).answer).toEqual({ ok: 1 });
});

test('a dead worker rejects what is pending and is replaced', async () => {
  const { client, workers, onCrash, ready } = setUp();
  ready(workers[0]!);
  const pending = client.search({});
  const failed = expect(pending).rejects.toBeInstanceOf(EngineCrashed);
  workers[0]!.onerror?.({ message: 'boom', preventDefault() {} } as unknown as ErrorEvent);
  await failed;
  expect(onCrash).toHaveBeenCalled();
  expect(workers[0]!.terminated).toBe(true);
  const again = client.call('validate', {});
  expect(workers.length).toBe(2);
  ready(workers[1]!);
  const message = workers[1]!.sent.filter((sent) => sent.type === 'call').at(-1)!;
  workers[1]!.say({ type: 'result', id: message.id, answer: '{}', elapsedMs: 1 });
  expect((await again).answer).toEqual({});
});
