// Who may include whom: the rooms of the core depend one way, and nothing reaches around the public headers.
// Also: every source is in the build. Prints each fault as file:line; exit code 1 when there is one.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

// Each room with the rooms that it may use. Cost models do not use one another.
const rooms = {
  facts: [],
  operators: ['facts'],
  compute: ['facts', 'operators'],
  collectives: ['facts', 'operators'],
  memory: ['facts', 'operators', 'rules'],
  rules: ['facts', 'schedule'],
  schedule: ['facts'],
  estimate: ['facts', 'operators', 'compute', 'collectives', 'memory', 'schedule', 'rules'],
  search: ['facts', 'operators', 'compute', 'collectives', 'memory', 'schedule', 'rules', 'estimate'],
};

// Public headers that state facts and results are open to every room; the others belong to the room of their name.
const openHeaders = ['version', 'result', 'model', 'cluster', 'plan', 'estimate'];
// Each public header with the public headers that it may use.
const publicHeaders = {
  version: [],
  result: [],
  model: ['result'],
  cluster: ['result'],
  plan: ['result', 'model', 'cluster'],
  rules: ['result', 'plan'],
  schedule: ['result', 'plan'],
  estimate: ['result', 'model', 'cluster', 'plan'],
  search: ['result', 'model', 'cluster', 'plan', 'estimate'],
};

// The core is pure: no text formats, no input or output, no threads, no clocks, no chance.
const forbiddenInCore =
  /^(nlohmann\/|emscripten|iostream$|fstream$|filesystem$|thread$|mutex$|future$|atomic$|condition_variable$|chrono$|ctime$|time\.h$|unistd\.h$|sys\/)/;
const forbiddenWordsInCore = /\b(random_device|system_clock|steady_clock|printf|abort|getenv)\b/;
const forbiddenInCodec = /^(emscripten|iostream$|fstream$|filesystem$|thread$|chrono$|random$)/;

const faults = [];
let checked = 0;

function filesBelow(folder, pattern) {
  let entries;
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(path, pattern);
    return pattern.test(entry.name) ? [path] : [];
  });
}

const withoutComments = (text) =>
  text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"/g, (match) =>
    match.startsWith('"') ? match : match.replace(/[^\n]/g, ' '));

// Calls visit(name, isQuoted, fault) for each #include of a file.
function eachInclude(file, visit) {
  checked += 1;
  const text = withoutComments(readFileSync(join(root, file), 'utf8'));
  text.split('\n').forEach((line, index) => {
    const fault = (message) => faults.push(`${file}:${index + 1}: ${message}`);
    const include = /^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)/.exec(line);
    if (include) visit(include[1] ?? include[2], include[1] !== undefined, fault);
  });
  return text;
}

function checkForbiddenWords(file, text) {
  text.split('\n').forEach((line, index) => {
    const word = forbiddenWordsInCore.exec(line.replace(/"(?:\\.|[^"\\])*"/g, '""'));
    if (word) faults.push(`${file}:${index + 1}: the core is pure and may not use ${word[1]}`);
  });
}

for (const file of filesBelow('core/include', /\.(h|cpp)$/)) {
  const name = /^core\/include\/meshwise\/(\w+)\.h$/.exec(file)?.[1];
  if (!name || !(name in publicHeaders)) {
    faults.push(`${file}:1: a public header that the rules of check_includes do not know`);
    continue;
  }
  const text = eachInclude(file, (included, isQuoted, fault) => {
    if (forbiddenInCore.test(included)) fault(`the core may not include <${included}>`);
    if (!isQuoted) return;
    const other = /^meshwise\/(\w+)\.h$/.exec(included)?.[1];
    if (!other || !publicHeaders[name].includes(other)) fault(`${name}.h may not include "${included}"`);
  });
  checkForbiddenWords(file, text);
}

for (const file of filesBelow('core/src', /\.(h|cpp)$/)) {
  const room = file.split('/')[2];
  if (!(room in rooms)) {
    faults.push(`${file}:1: not in a room that the rules of check_includes know`);
    continue;
  }
  const mayUse = [room, ...rooms[room]];
  const text = eachInclude(file, (included, isQuoted, fault) => {
    if (forbiddenInCore.test(included)) fault(`the core may not include <${included}>`);
    if (!isQuoted) return;
    const [folder, base] = included.split('/');
    if (folder === 'meshwise') {
      const header = base.replace(/\.h$/, '');
      if (!openHeaders.includes(header) && !mayUse.includes(header)) fault(`${room} may not include "${included}"`);
    } else if (!mayUse.includes(folder)) {
      fault(`${room} may not include "${included}"; it may use ${mayUse.join(', ')}`);
    }
  });
  checkForbiddenWords(file, text);
}

for (const file of filesBelow('core/codec', /\.(h|cpp)$/)) {
  const isPublic = file.startsWith('core/codec/include/');
  eachInclude(file, (included, isQuoted, fault) => {
    if (forbiddenInCodec.test(included)) fault(`the codec may not include <${included}>`);
    if (!isQuoted) return;
    const [folder, ...rest] = included.split('/');
    const isLocal = rest.length === 0 && !isPublic;
    if (!isLocal && folder !== 'meshwise' && folder !== 'meshwise_codec') {
      fault(`the codec may include the core's public headers only, not "${included}"`);
    }
  });
}

for (const file of filesBelow('wasm', /\.(h|cpp)$/)) {
  eachInclude(file, (included, isQuoted, fault) => {
    if (included.startsWith('emscripten') && file !== 'wasm/bindings.cpp') fault('only bindings.cpp knows of Emscripten');
    if (!isQuoted) return;
    const [folder, ...rest] = included.split('/');
    if (rest.length > 0 && folder !== 'meshwise' && folder !== 'meshwise_codec') {
      fault(`the engine's surface may include public headers only, not "${included}"`);
    }
  });
}

// Only the worker imports the module at run time; types may be imported anywhere.
for (const file of filesBelow('web/src', /\.(ts|tsx|mjs|js)$/)) {
  checked += 1;
  if (file === 'web/src/engine/worker.ts') continue;
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      if (/^\s*import\s+type\b/.test(line)) return;
      if (/(from\s*|import\s*\(?\s*|URL\(\s*)['"][^'"]*(meshwise\.(mjs|wasm)|wasm-release)/.test(line)) {
        faults.push(`${file}:${index + 1}: only web/src/engine/worker.ts imports the wasm module`);
      }
    });
}

// Every source is in the build, so that none rots unseen.
const listed = ['CMakeLists.txt', ...filesBelow('tests', /^CMakeLists\.txt$/)]
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n');
for (const file of ['core', 'wasm', 'tests'].flatMap((folder) => filesBelow(folder, /\.cpp$/))) {
  if (file.startsWith('tests/install_consumer/')) continue;
  const inFolder = file.replace(/^tests\/bench\//, '');
  if (!listed.includes(file) && !listed.includes(` ${inFolder})`)) faults.push(`${file}:1: in no target of the build`);
}

for (const fault of faults) console.error(fault);
if (checked === 0) faults.push('nothing to check');
console.log(`check_includes: ${checked} files, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
