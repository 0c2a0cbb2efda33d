// Sizes of what a visitor downloads, against the budgets. Reads the built page; sizes are gzip -9, in kB of 1000 bytes.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const site = join(resolve(dirname(fileURLToPath(import.meta.url)), '../..'), 'build', 'site');
const budgets = { page: 60_000, engine: 160_000 };

const files = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => posix.join((entry.parentPath ?? entry.path).slice(site.length), entry.name).replace(/^\//, ''));
const read = (file) => readFileSync(join(site, file));
const gzipBytes = (file) => gzipSync(read(file), { level: 9 }).length;

// Scripts and styles that index.html loads, and the chunks that those import without waiting.
function loadedByThePage() {
  const found = new Set(['index.html']);
  const queue = [];
  const add = (base, reference) => {
    const file = posix.join(posix.dirname(base), reference);
    if (!files.includes(file) || found.has(file)) return;
    found.add(file);
    if (/\.m?js$/.test(file)) queue.push(file);
  };
  for (const match of read('index.html').toString().matchAll(/(?:src|href)="([^"]+\.(?:m?js|css))"/g)) add('index.html', match[1]);
  while (queue.length > 0) {
    const file = queue.pop();
    for (const match of read(file).toString().matchAll(/(?:\bfrom|\bimport)\s*"([^"]+)"/g)) add(file, match[1]);
  }
  return [...found];
}

const groups = {
  page: loadedByThePage(),
  engine: files.filter((file) => /\.wasm$/.test(file) || /worker[^/]*\.js$/.test(file)),
};
const grouped = new Set(Object.values(groups).flat());
groups.rest = files.filter((file) => !grouped.has(file) && !/\.map$/.test(file));

let faults = 0;
for (const [group, members] of Object.entries(groups)) {
  const sizes = members.map((file) => [file, read(file).length, gzipBytes(file)]);
  for (const [file, raw, gzip] of sizes) {
    console.log(`  ${file.padEnd(44)} ${(raw / 1000).toFixed(1).padStart(8)} kB ${(gzip / 1000).toFixed(1).padStart(8)} kB gzip`);
  }
  const total = sizes.reduce((sum, size) => sum + size[2], 0);
  const budget = budgets[group];
  const isOver = budget !== undefined && (total > budget || members.length === 0);
  faults += isOver ? 1 : 0;
  const limit = budget === undefined ? '' : ` of ${(budget / 1000).toFixed(0)} kB${isOver ? ' FAILED' : ''}`;
  console.log(`${group}: ${(total / 1000).toFixed(1)} kB gzip${limit}`);
}
if (!groups.engine.some((file) => file.endsWith('.wasm'))) {
  console.log('FAILED: the page holds no wasm module');
  faults += 1;
}
process.exit(faults > 0 ? 1 : 0);
