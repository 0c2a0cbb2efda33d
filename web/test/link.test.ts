import { expect, test } from 'vitest';
import { decodeLink, encodeLink, openAddress } from '../src/state/link.ts';

const payload = {
  request: { version: 1, model: { preset: 'llama-3-70b' }, cluster: { preset: 'dgx-h100', devices: 512 }, job: { sequenceLength: 8192 } },
  engineVersion: '0.1.0',
};

test('a link reads back what was put in, in letters that no markup touches', async () => {
  const link = await encodeLink(payload);
  expect(link).toMatch(/^1\.[A-Za-z0-9_-]+\.e$/);
  const opened = await decodeLink(link);
  expect(opened.kind === 'plan' && opened.payload.request).toEqual(payload.request);
});

test('every cut and every changed letter is noticed', async () => {
  const link = await encodeLink(payload);
  for (let length = 0; length < link.length; length += 1) {
    expect((await decodeLink(link.slice(0, length))).kind, `cut to ${length}`).toBe('damaged');
  }
  for (let at = 2; at < link.length - 2; at += 1) {
    const other = link[at] === 'A' ? 'B' : 'A';
    expect((await decodeLink(link.slice(0, at) + other + link.slice(at + 1))).kind, `letter ${at}`).toBe('damaged');
  }
}, 20_000);

test('percent-encoded links open', async () => {
  const link = await encodeLink(payload);
  expect((await decodeLink(encodeURIComponent(link).replaceAll('.', '%2E'))).kind).toBe('plan');
});

test('a link of a later format says so', async () => {
  const link = await encodeLink(payload);
  expect((await decodeLink(link.replace(/^1/, '7'))).kind).toBe('newer');
});

test('bombs and nonsense are refused', async () => {
  const bomb = await encodeLink({ ...payload, request: { note: 'x'.repeat(1_000_000) } });
  expect((await decodeLink(bomb)).kind).toBe('damaged');
  for (const text of ['', '.', '1..e', '1.AAAA.e', 'javascript:alert(1)', '<script>', '1.%%%.e']) {
    expect((await decodeLink(text)).kind, text).toBe('damaged');
  }
});

test('the three forms of an address', async () => {
  const link = await encodeLink(payload);
  expect((await openAddress(`#${link}`, '')).kind).toBe('plan');
  expect((await openAddress('', `?p=${link}`)).kind).toBe('plan');
  const short = await openAddress('', '?model=llama-3-8b&devices=16&tp=8&__proto__=1');
  expect(short.kind === 'short' && short.texts).toEqual({ '/model/preset': 'llama-3-8b', '/cluster/devices': '16', '/limits/tensor': '8' });
  expect(short.kind === 'short' && short.unknown).toEqual(['__proto__']);
  expect((await openAddress('', '')).kind).toBe('none');
});

// Frozen: the first link format. It must open to these inputs for ever.
test('a link of format 1 still opens', async () => {
  const frozen = '1.eJxVzbEKwjAARdFfCW9OS1IRNd_g7N4mj7SSppqkRSj5d-ng4Ho5cHckvlfmArNjY8rTEmG0xLw4hiO-EjMLDELo5745NRc1oErYsObC9Eec_zSjVgoSjttkmWHOuqsSz2U4ZD5m0fLO6MsIc9W3rlYJRj9FPn5_qFa3ClUIIb4F1jO6.e';
  const opened = await decodeLink(frozen);
  expect(opened.kind === 'plan' && opened.payload.request).toEqual(payload.request);
});
