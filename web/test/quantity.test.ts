import { expect, test } from 'vitest';
import { parseQuantity, writeQuantity, type Quantity } from '../src/state/quantity.ts';

test.each<[string, Quantity, number]>([
  ['70B', 'count', 70e9],
  ['70 b', 'count', 70e9],
  ['1.5e12', 'count', 1.5e12],
  ['1,024', 'count', 1024],
  ['8k', 'count', 8000],
  ['80 GiB', 'bytes', 80 * 2 ** 30],
  ['80 GB', 'bytes', 80e9],
  ['400 Gb/s', 'bytesPerSecond', 50e9],
  ['900 GB/s', 'bytesPerSecond', 900e9],
  ['989.5 TFLOP/s', 'flopsPerSecond', 989.5e12],
  ['5 µs', 'seconds', 5e-6],
  ['12 ms', 'seconds', 12e-3],
  ['45 %', 'fraction', 0.45],
  ['0.45', 'fraction', 0.45],
])('%s as %s', (text, quantity, value) => {
  const parsed = parseQuantity(text, quantity);
  expect(parsed.ok && parsed.value / value).toBeCloseTo(1, 12);
});

test.each<[string, Quantity]>([
  ['', 'count'],
  ['many', 'count'],
  ['70Q', 'count'],
  ['1e999', 'count'],
  ['80', 'bytes'], // GB or GiB?
  ['NaN', 'count'],
  ['Infinity', 'seconds'],
  ['<b>8</b>', 'count'],
])('%s is no %s', (text, quantity) => {
  expect(parseQuantity(text, quantity).ok).toBe(false);
});

test('what is written reads back as the same number', () => {
  const values: [number, Quantity][] = [[80 * 2 ** 30, 'bytes'], [50e9, 'bytesPerSecond'], [1e-6, 'seconds'], [989.5e12, 'flopsPerSecond'], [128256, 'count'], [0.123, 'fraction']];
  for (const [value, quantity] of values) {
    const parsed = parseQuantity(writeQuantity(value, quantity), quantity);
    expect(parsed.ok && parsed.value, `${value} ${quantity}`).toBe(value);
  }
});
