import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kendallTau, measuredStepSeconds, modelFlop, regret, summarize } from '../../scripts/lib/accuracy.mjs';

const run = (over = {}) => ({
  id: 'a',
  family: 'f',
  group: 'g',
  grade: 'A',
  model: { layers: 2, hidden: 8, heads: 2, kvHeads: 2, headDim: 4, ffn: 16, vocab: 10, gatedMlp: false, moe: null },
  cluster: { accelerator: 'x', devices: 4 },
  job: { sequenceLength: 10, globalBatchSequences: 6 },
  measured: { stepSeconds: 2 },
  ...over,
});
const answer = (stepSeconds, over = {}) => ({ stepSeconds, fits: true, peakMemoryBytes: 1e9, ...over });

test('a measured step is taken as printed, or follows from the token rate', () => {
  assert.equal(measuredStepSeconds(run()), 2);
  // 10 * 6 tokens at 5 tokens/s on each of 4 devices: 60 / 20
  assert.equal(measuredStepSeconds(run({ measured: { tokensPerSecondPerDevice: 5 } })), 3);
  assert.equal(measuredStepSeconds(run({ measured: { oom: true } })), null);
});

test('SC21 rows convert by the formula of the paper', () => {
  // 96 B s l h^2 (1 + s/6h + V/16lh), B 6, s 10, l 2, h 8, V 10, at 1e12 FLOP/s on each of 4 devices
  const flop = 96 * 6 * 10 * 2 * 64 * (1 + 10 / 48 + 10 / 256);
  const row = run({ family: 'sc21', measured: { source_tflops_per_device: 1 } });
  assert.ok(Math.abs(measuredStepSeconds(row) / (flop / 4e12) - 1) < 1e-12);
});

test('model FLOP: six per parameter of the products, and full attention', () => {
  // a layer: 4 h^2 + 2 h f = 256 + 256; two layers and the head 8 * 10: 1104; attention 12 * 2 * 8 * 10 = 1920 a token
  assert.equal(modelFlop(run()), (6 * 1104 + 1920) * 60);
});

test('tau: order, reversed order, ties within two percent', () => {
  const rows = (predicted, measured) => predicted.map((value, i) => ({ predicted: value, measured: measured[i] }));
  assert.equal(kendallTau(rows([1, 2, 3], [10, 20, 30])), 1);
  assert.equal(kendallTau(rows([3, 2, 1], [10, 20, 30])), -1);
  assert.equal(kendallTau(rows([1, 2], [10, 10.1])), null); // nothing to order
  assert.equal(kendallTau(rows([1, 1.01], [10, 20])), 0); // nothing told apart
});

test('regret: what the pick costs over the best, per token', () => {
  const rows = [
    { predicted: 1, measured: 12, tokens: 1 },
    { predicted: 2, measured: 10, tokens: 1 },
  ];
  assert.ok(Math.abs(regret(rows) - 0.2) < 1e-12);
  assert.equal(regret([{ predicted: 3, measured: 30, tokens: 3 }, { predicted: 2, measured: 22, tokens: 1 }]), 0);
});

test('families count alike, grades C and D do not count, refusals are counted', () => {
  const pairs = [
    { run: run({ id: '1' }), answer: answer(2.2) }, // 10 %
    { run: run({ id: '2' }), answer: answer(2.6) }, // 30 %
    { run: run({ id: '3', family: 'h' }), answer: answer(2) }, // 0 %
    { run: run({ id: '4', grade: 'D' }), answer: answer(20) },
    { run: run({ id: '5' }), answer: { stepSeconds: null, fits: null } },
    { run: run({ id: '6', measured: { oom: true } }), answer: answer(1, { fits: false }) },
    { run: run({ id: '7', measured: { oom: true } }), answer: answer(1) },
    { run: run({ id: '8', measured: { peakMemoryBytes: 2e9 } }), answer: answer(1) },
  ];
  const summary = summarize(pairs);
  assert.equal(summary.rowsRead, 8);
  assert.equal(summary.rowsScored, 7);
  assert.equal(summary.notRepresented, 1);
  // family f: median of 10 % and 30 % is 20 %; family h: 0 %
  assert.ok(Math.abs(summary.time.meanOfFamilyMedians - 0.1) < 1e-12);
  assert.ok(Math.abs(summary.time.p90 - 0.3) < 1e-12);
  assert.deepEqual(summary.outOfMemory, { saidFitsAndDid: 3, saidFitsAndDidNot: 1, saidNotAndDid: 0, saidNotAndDidNot: 1 });
  assert.equal(summary.memory.f.median, 0.5);
});

test('the baseline is one rate a device type', () => {
  const pairs = [1, 2, 4].map((seconds) => ({ run: run({ id: `${seconds}`, measured: { stepSeconds: seconds } }), answer: answer(seconds) }));
  // all runs have the same work, so the median rate is that of the 2-second run: errors 100 %, 0 %, 50 %
  assert.ok(Math.abs(summarize(pairs).baseline.time.families.f.median - 0.5) < 1e-12);
});
