// Native and WebAssembly give the same answers: every request of tests/golden/requests through every function, as bytes.
// Run with GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA: glibc's fused variants of log2 and pow differ in the last bit.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadEngine, root } from '../../scripts/lib/engine.mjs';

const native = join(root, 'build', 'native-release', 'tests', 'meshwise_native');
const catalogue = join(root, 'build', 'catalogue.json');
const folder = join(root, 'tests', 'golden', 'requests');
const functions = ['validate', 'plan', 'searchJob', 'estimate', 'explain', 'timeline'];
const engine = await loadEngine();

function inSlices(request) {
  const job = new engine.SearchJob(request);
  try {
    for (;;) {
      const state = JSON.parse(job.step(1000));
      if (state.done || state.issues.some((issue) => issue.severity === 'error')) return job.take();
    }
  } finally {
    job.delete();
  }
}

let passed = 0;
let failed = 0;
for (const file of readdirSync(folder).sort()) {
  const path = join(folder, file);
  const request = readFileSync(path, 'utf8');
  for (const name of functions) {
    const wasm = name === 'searchJob' ? inSlices(request) : engine[name](request);
    const expected = execFileSync(native, [catalogue, name, path], { encoding: 'utf8', maxBuffer: 1 << 28 }).trimEnd();
    if (wasm === expected) {
      passed += 1;
      continue;
    }
    failed += 1;
    let at = 0;
    while (wasm[at] === expected[at]) at += 1;
    const around = (text) => text.slice(Math.max(0, at - 80), at + 60);
    console.error(`${file} ${name} differs at ${at}\n  native ${around(expected)}\n  wasm   ${around(wasm)}`);
  }
}
console.log(`parity: ${passed} answers equal, ${failed} different`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
