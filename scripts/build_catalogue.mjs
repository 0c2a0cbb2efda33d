// Usage: node scripts/build_catalogue.mjs [catalogue.json]
//
// Bundles presets/** into the catalogue that the engine loads (default: build/catalogue.json) and, beside it, into
// <name>-sources.json: the published value, unit and source of every number, for the page to show on demand. Quantities
// are converted to base units here and nowhere else. The same presets give the same bytes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// Base units are byte, second, FLOP, watt and US dollar an hour. GB is 10^9 and GiB is 2^30, always.
const factors = {
  'TFLOP/s': 1e12,
  'GB/s': 1e9,
  'Gbit/s': 1e9 / 8,
  GB: 1e9,
  MB: 1e6,
  GiB: 2 ** 30,
  MiB: 2 ** 20,
  W: 1,
  s: 1,
  count: 1,
  fraction: 1,
  ratio: 1,
  'USD/h': 1,
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isSourced = (value) => isObject(value) && 'value' in value && 'source' in value;

// The number in base units; 15 digits drop the last bit of noise from the multiplication.
export function baseValue({ value, unit }) {
  if (unit === undefined) return value;
  if (!(unit in factors)) throw new Error(`unknown unit ${unit}`);
  return Number((value * factors[unit]).toPrecision(15));
}

// Sourced values become plain values, at any depth. With `usePriors`, a fitted constant is what it was before the fit:
// that is where a new fit starts and what holds it.
let usePriors = false;
const plain = (value) => {
  if (isSourced(value)) return baseValue(usePriors && 'prior' in value ? { ...value, value: value.prior } : value);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
};

const pick = (object, keys) =>
  Object.fromEntries(keys.filter((key) => key in object).map((key) => [key, plain(object[key])]));

const modelFields = [
  ...['name', 'family', 'layers', 'hidden', 'heads', 'kvHeads', 'headDim', 'ffn', 'vocab', 'gatedMlp'],
  ...['tiedEmbeddings', 'position', 'positionRows', 'norm', 'normBias', 'normsPerLayer', 'finalNorm', 'embeddingNorm'],
  ...['qkNorm', 'biases', 'attention', 'parallelBlock', 'moe', 'mtpLayers', 'extraParameters', 'maxSequenceLength'],
  'provenance',
];
const acceleratorFields = [
  ...['name', 'vendor', 'matrixFlopsPerSecond', 'vectorFlopsPerSecond', 'memoryBytes', 'memoryBytesPerSecond'],
  ...['cacheBytes', 'computeUnits', 'powerWatts', 'scaleUpTopology', 'scaleUpBytesPerSecond', 'scaleUpDomain'],
  ...['hostBytesPerSecond', 'efficiency', 'provenance'],
];
const labels = new Set(['id', 'name', 'family', 'vendor', 'kind', 'provenance', 'frameworks', 'accelerator']);

function clusterEntry(preset) {
  const overrides = plain(preset.acceleratorOverrides ?? {});
  const entry = pick(preset, ['name', 'accelerator', 'devicesPerNode']);
  if (Object.keys(overrides).length > 0) entry.accelerator = { preset: preset.accelerator, ...overrides };
  // Left out where the network is not published: a plan over several nodes then has to state it.
  if (preset.networkGbitPerDevice) entry.networkBytesPerSecondPerDevice = plain(preset.networkGbitPerDevice);
  return {
    ...entry,
    ...pick(preset, ['networkOversubscription', 'devicesPerLeaf', 'inNetworkReduction', 'usdPerDeviceHour']),
    provenance: preset.provenance,
  };
}

function softwareEntry(preset) {
  const switches = Object.keys(preset).filter((key) => isSourced(preset[key]));
  return pick(preset, ['name', 'frameworks', ...switches, 'defaults', 'provenance']);
}

const readPresets = (folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));

const keyed = (presets, entry) => Object.fromEntries(presets.map((preset) => [preset.id, entry(preset)]));

// Everything that is not a label or a plain shape field: what a person reads about the numbers.
function sourcesEntry(preset) {
  return Object.fromEntries(
    Object.entries(preset).filter(([key, value]) => !labels.has(key) && (isObject(value) || Array.isArray(value))),
  );
}

const modelSources = (preset) => pick(preset, ['huggingFaceId', 'sources', 'published']);

// {catalogue, sources}: two plain objects, ready for JSON.
export function buildCatalogue(presetsDir, { priors = false } = {}) {
  usePriors = priors;
  const [models, accelerators, clusters, software] = ['models', 'accelerators', 'clusters', 'software'].map((kind) =>
    readPresets(join(presetsDir, kind)),
  );
  return {
    catalogue: {
      models: keyed(models, (preset) => pick(preset, modelFields)),
      accelerators: keyed(accelerators, (preset) => pick(preset, acceleratorFields)),
      clusters: keyed(clusters, clusterEntry),
      software: keyed(software, softwareEntry),
    },
    sources: {
      models: keyed(models, modelSources),
      accelerators: keyed(accelerators, sourcesEntry),
      clusters: keyed(clusters, sourcesEntry),
      software: keyed(software, sourcesEntry),
    },
  };
}

// One preset a line, so that two catalogues can be compared by eye.
function serialize(document) {
  const kinds = Object.entries(document).map(([kind, presets]) => {
    const lines = Object.entries(presets).map(([id, preset]) => `${JSON.stringify(id)}:${JSON.stringify(preset)}`);
    return `${JSON.stringify(kind)}:{\n${lines.join(',\n')}}`;
  });
  return `{${kinds.join(',\n')}}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..');
  const [path] = process.argv.slice(2).filter((argument) => argument !== '--priors');
  const target = path ?? join(root, 'build', 'catalogue.json');
  const { catalogue, sources } = buildCatalogue(join(root, 'presets'), { priors: process.argv.includes('--priors') });
  mkdirSync(dirname(target), { recursive: true });
  for (const [file, document] of [
    [target, catalogue],
    [target.replace(/\.json$/, '-sources.json'), sources],
  ]) {
    const text = serialize(document);
    writeFileSync(file, text);
    const counts = Object.entries(document).map(([kind, presets]) => `${Object.keys(presets).length} ${kind}`);
    console.log(`${file}: ${counts.join(', ')}; ${text.length} bytes, ${gzipSync(text, { level: 9 }).length} gzipped`);
  }
}
