// Share links: '#1.<base64url of zlib-deflated JSON>.e'. The zlib stream ends with a checksum; the fixed last letter
// keeps programs that turn text into links from cutting a trailing '-' or '_'.
import { isObject, type JsonObject } from './json.ts';
import { linkFormat, migrate } from './migrations.ts';

export interface LinkPayload {
  /** All inputs, resolved, so that a corrected preset does not change an old link. */
  request: JsonObject;
  engineVersion: string;
  /** The same inputs as presets and edits, to tell later whether a preset has changed. */
  asked?: JsonObject;
  /** Step time of the best plan when the link was made, seconds; tells whether the engine changed its mind. */
  stepSeconds?: number;
  /** What is on screen besides the inputs; each part is optional and falls back alone. */
  view?: JsonObject;
}

export type Opened =
  | { kind: 'none' }
  | { kind: 'plan'; payload: LinkPayload }
  | { kind: 'damaged' }
  | { kind: 'newer'; format: number }
  /** Texts by JSON pointer, as typed into the fields; and the keys that mean nothing to us. */
  | { kind: 'short'; texts: Record<string, string>; unknown: string[] };

const decompressedLimit = 256 * 1024;

function toBase64Url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    return toBase64Url(bytes) === text ? bytes : undefined; // unused bits of the last letter must be zero
  } catch {
    return undefined;
  }
}

async function deflate(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate')).getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > decompressedLimit) {
        void reader.cancel().catch(() => undefined);
        return undefined;
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return undefined;
  }
}

// A deflate stream ends on any bit; zlib fills up the byte and nobody checks the filling. Spaces after the JSON move the
// end until no bit is left over, so that every changed letter of a link is noticed.
async function deflateWithoutSlack(text: string): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = await deflate(text);
  for (let spaces = 1; spaces <= 64; spaces++) {
    const flipped = bytes.slice();
    flipped[flipped.length - 5]! ^= 0x80; // the last bit before the 4-byte checksum
    if ((await inflate(flipped)) === undefined) return bytes;
    bytes = await deflate(text + ' '.repeat(spaces));
  }
  return bytes;
}

/** Without the leading '#'. */
export async function encodeLink(payload: LinkPayload): Promise<string> {
  return `${linkFormat}.${toBase64Url(await deflateWithoutSlack(JSON.stringify(payload)))}.e`;
}

async function decodeOnce(text: string): Promise<Opened> {
  const match = /^(\d{1,4})\.([A-Za-z0-9_-]+)\.e$/.exec(text);
  if (!match) return { kind: 'damaged' };
  const bytes = fromBase64Url(match[2]!);
  const json = bytes && (await inflate(bytes));
  if (json === undefined) return { kind: 'damaged' };
  const format = Number(match[1]);
  if (format > linkFormat) return { kind: 'newer', format };
  try {
    const value: unknown = JSON.parse(json);
    const payload = isObject(value) ? migrate(format, value) : undefined;
    if (!payload) return { kind: 'damaged' };
    return {
      kind: 'plan',
      payload: {
        request: payload.request as JsonObject,
        engineVersion: typeof payload.engineVersion === 'string' ? payload.engineVersion : '',
        asked: isObject(payload.asked) ? payload.asked : undefined,
        stepSeconds: typeof payload.stepSeconds === 'number' ? payload.stepSeconds : undefined,
        view: isObject(payload.view) ? payload.view : undefined,
      },
    };
  } catch {
    return { kind: 'damaged' };
  }
}

/** Chat programs percent-encode links: a text that does not read is tried once more, decoded. */
export async function decodeLink(text: string): Promise<Opened> {
  const first = await decodeOnce(text);
  if (first.kind !== 'damaged' || !text.includes('%')) return first;
  try {
    return await decodeOnce(decodeURIComponent(text));
  } catch {
    return first;
  }
}

// The hand-written form for authors of documents: ?model=llama-3-70b&cluster=dgx-h100&devices=512&tp=8
const shortKeys: Record<string, string> = {
  model: '/model/preset',
  cluster: '/cluster/preset',
  devices: '/cluster/devices',
  seq: '/job/sequenceLength',
  gbs: '/job/globalBatchSequences',
  precision: '/job/precision',
  software: '/software/profile',
  objective: '/objective',
  tp: '/limits/tensor',
  pp: '/limits/pipeline',
  dp: '/limits/data',
  cp: '/limits/context',
  ep: '/limits/expert',
  vpp: '/limits/virtualStages',
  mbs: '/limits/microBatchSequences',
};

/** Reads what a page address carries: the fragment first, then '?p=', then the short form. */
export async function openAddress(hash: string, search: string): Promise<Opened> {
  const fragment = hash.replace(/^#/, '');
  if (/^%?\d/.test(fragment) || fragment.includes('.')) return decodeLink(fragment);
  const query = new URLSearchParams(search);
  const carried = query.get('p');
  if (carried !== null) return decodeLink(carried);
  const texts: Record<string, string> = {};
  const unknown: string[] = [];
  for (const [key, value] of query) {
    const pointer = Object.hasOwn(shortKeys, key) ? shortKeys[key] : undefined;
    if (pointer) texts[pointer] = value;
    else unknown.push(key);
  }
  return Object.keys(texts).length > 0 ? { kind: 'short', texts, unknown } : { kind: 'none' };
}
