import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib/engine.mjs';

const tool = join(root, 'scripts', 'meshwise');
const golden = (name) => join(root, 'tests', 'golden', 'requests', `${name}.json`);
const call = (...args) => spawnSync(tool, args, { encoding: 'utf8', maxBuffer: 1 << 28 });

test('plan ranks the example of the README, best first', () => {
  const { status, stdout } = call('plan', golden('llama-3-70b-512-h100'));
  assert.equal(status, 0);
  const answer = JSON.parse(stdout);
  assert.equal(answer.plans.length, 10);
  for (let i = 1; i < answer.plans.length; i += 1) {
    assert.ok(answer.plans[i - 1].estimate.stepSeconds <= answer.plans[i].estimate.stepSeconds);
  }
  for (const { strategy: s, estimate: e } of answer.plans) {
    assert.equal(s.tensor * s.pipeline * s.data * s.context, 512);
    assert.ok(e.fits && e.memory.peakBytes <= e.memory.capacityBytes);
    const sum = Object.values(e.time).reduce((total, term) => total + term, 0);
    assert.ok(Math.abs(sum / e.stepSeconds - 1) < 1e-9);
  }
  const removed = Object.values(answer.search.removed).reduce((total, count) => total + count, 0);
  assert.equal(answer.search.rawSpace, answer.search.evaluated + removed);
});

test('the resolved request of an answer gives the same answer', () => {
  const first = JSON.parse(call('plan', golden('llama-3-70b-512-h100')).stdout);
  const file = join(mkdtempSync(join(tmpdir(), 'meshwise-')), 'request.json');
  writeFileSync(file, JSON.stringify(first.request));
  assert.deepEqual(JSON.parse(call('plan', file).stdout).plans, first.plans);
});

test('bad input: every fault at once, with its path, exit code 2', () => {
  const { status, stdout, stderr } = call('plan', golden('bad-input'));
  assert.equal(status, 2);
  const paths = JSON.parse(stdout).issues.map((issue) => issue.path);
  for (const path of ['/model/heads', '/model/hidden', '/cluster/devices', '/cluster/colour', '/job/sequenceLength', '/job/globalBatchSequences', '/job/precision', '/top']) {
    assert.ok(paths.includes(path), `${path} in ${paths}`);
    assert.ok(stderr.includes(path));
  }
});

test('unknown commands and missing files are bad input', () => {
  assert.equal(call('dance', 'x').status, 2);
  const missing = call('plan', '/does/not/exist.json');
  assert.equal(missing.status, 2);
  assert.equal(JSON.parse(missing.stdout).issues[0].severity, 'error');
  assert.match(missing.stderr, /exist\.json/);
  assert.equal(call('accuracy', '/does/not/exist.json').status, 2);
  assert.equal(call('accuracy', 'a.json', 'b.json').status, 2);
  assert.equal(call('accuracy', golden('bad-input')).status, 2); // no list of runs
  assert.equal(call().status, 2);
  assert.equal(call('--help').status, 0);
});

test('a request may come from standard input', () => {
  const input = readFileSync(golden('gpt-2-xl-one-device'), 'utf8');
  const { status, stdout } = spawnSync(tool, ['plan', '-'], { encoding: 'utf8', input });
  assert.equal(status, 0);
  assert.equal(stdout, call('plan', golden('gpt-2-xl-one-device')).stdout);
});

test('accuracy: one line a run, then the summary', () => {
  const request = JSON.parse(readFileSync(golden('gpt-3-175b-1024-a100'), 'utf8'));
  const row = {
    id: 'made-up-row',
    family: 'test',
    group: 'test',
    grade: 'A',
    model: { layers: 24, hidden: 1024, heads: 16, ffn: 4096, vocab: 50304, gatedMlp: false, attention: { type: 'mha' }, moe: null },
    cluster: { accelerator: 'a100-sxm-80g', devices: 8, devicesPerNode: 8, networkGbitPerDevice: 200 },
    job: { sequenceLength: 1024, globalBatchSequences: 64, precision: 'bf16', framework: 'Megatron-LM' },
    strategy: { ...request.strategy, tensor: 1, pipeline: 1, data: 8, virtualStages: 1, schedule: 'none' },
    measured: { stepSeconds: 1 },
  };
  const file = join(mkdtempSync(join(tmpdir(), 'meshwise-')), 'runs.json');
  writeFileSync(file, JSON.stringify([row, { ...row, id: 'no-degrees', strategy: {} }]));
  const lines = execFileSync(tool, ['accuracy', file], { encoding: 'utf8' }).trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(lines.length, 3);
  assert.deepEqual(Object.keys(lines[0]).filter((key) => ['id', 'stepSeconds', 'tokensPerSecondPerDevice', 'peakMemoryBytes', 'fits', 'issues'].includes(key)).length, 6);
  assert.ok(lines[0].stepSeconds > 0);
  // a run that cannot be represented gets an issue, never a number
  assert.equal(lines[1].stepSeconds, null);
  assert.ok(lines[1].issues.length > 0);
  assert.equal(lines[2].notRepresented, 1);
});
