// The benchmarks of scripts/bench: one list of {name, value, unit}.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { loadEngine, root } from './engine.mjs';

const figures = [];
const add = (name, value, unit) => figures.push({ name, value: Number(value.toPrecision(4)), unit });
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// native: Google Benchmark, its own counters included
const program = join(root, 'build', 'native-release', 'tests', 'bench', 'meshwise_bench');
const native = JSON.parse(
  execFileSync(program, ['--benchmark_format=json', ...process.argv.slice(2)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 }),
);
const known = new Set(['name', 'run_name', 'run_type', 'family_index', 'per_family_instance_index', 'repetitions', 'repetition_index', 'threads', 'iterations', 'real_time', 'cpu_time', 'time_unit', 'label']);
for (const result of native.benchmarks) {
  add(`native/${result.name}`, result.cpu_time, result.time_unit);
  for (const [counter, value] of Object.entries(result)) {
    if (!known.has(counter) && typeof value === 'number') add(`native/${result.name}/${counter}`, value, 'count or 1/s');
  }
}

// wasm under node: the golden requests, the first call apart (the compiler is still warming up)
const engine = await loadEngine();
const folder = join(root, 'tests', 'golden', 'requests');
for (const file of readdirSync(folder).filter((name) => name !== 'bad-input.json')) {
  const request = readFileSync(join(folder, file), 'utf8');
  const seconds = [];
  let space = 0;
  for (let i = 0; i < 6; i += 1) {
    const start = process.hrtime.bigint();
    const answer = JSON.parse(engine.plan(request));
    seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
    space = answer.search?.rawSpace ?? 0;
  }
  const name = `wasm-node/plan/${file.replace('.json', '')}`;
  add(`${name}/first`, seconds[0] * 1e3, 'ms');
  add(name, median(seconds.slice(1)) * 1e3, 'ms');
  add(`${name}/strategies`, space / median(seconds.slice(1)), '1/s');
}

// the page in Chromium: what it says of its own search, worker and messages included
const { chromium } = createRequire(join(root, 'web', 'package.json'))('playwright-core');
const server = spawn(process.execPath, [join(root, 'scripts', 'serve.mjs'), '--port', '4273'], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise((resolve) => server.stdout.on('data', (text) => resolve(/http:\S+/.exec(String(text))?.[0])));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [name, query] of [
    ['llama-3-70b-512-h100', 'model=llama-3-70b&cluster=dgx-h100&devices=512&seq=8192&gbs=1024'],
    ['gpt-3-175b-1024-a100', 'model=gpt-3-175b&cluster=dgx-a100&devices=1024&seq=2048&gbs=1536'],
  ]) {
    const times = [];
    for (let i = 0; i < 3; i += 1) {
      const page = await browser.newPage();
      await page.goto(`${address}?${query}`);
      const text = await page.getByText(/^Searched in/).textContent({ timeout: 30_000 });
      times.push(Number(/([\d,]+)/.exec(text)[1].replaceAll(',', '')));
      await page.close();
    }
    add(`chromium/search/${name}/cold`, median(times), 'ms');
  }
} finally {
  await browser.close();
  server.kill();
}
console.log(JSON.stringify(figures, null, 1));
