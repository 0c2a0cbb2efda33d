// Usage: node scripts/check_presets.mjs
//
// Checks every file under presets/: valid against its schema, named like its id, references that exist, frameworks
// claimed once, a source beside every number. Needs the packages of web/ (ajv). Exit code 1 with one line per fault.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCatalogue } from './build_catalogue.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const presets = join(root, 'presets');
const { Ajv2020 } = createRequire(join(root, 'web/package.json'))('ajv/dist/2020');

const faults = [];
const kinds = { models: 'model', accelerators: 'accelerator', clusters: 'cluster', software: 'software' };
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
ajv.addKeyword({ keyword: 'x-unit', schemaType: 'string' });
const validators = Object.fromEntries(
  Object.entries(kinds).map(([kind, name]) => [kind, ajv.compile(readJson(join(presets, `schema/${name}.schema.json`)))]),
);

const all = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, new Map()]));
let files = 0;
for (const kind of Object.keys(kinds)) {
  for (const file of readdirSync(join(presets, kind)).sort()) {
    const where = `presets/${kind}/${file}`;
    files += 1;
    let preset;
    try {
      preset = readJson(join(presets, kind, file));
    } catch (error) {
      faults.push(`${where}: ${error.message}`);
      continue;
    }
    if (!validators[kind](preset)) {
      for (const error of validators[kind].errors) {
        faults.push(`${where}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
      }
    }
    if (file !== `${preset.id}.json`) faults.push(`${where}: the id is ${preset.id}`);
    if (all[kind].has(preset.id)) faults.push(`${where}: the id ${preset.id} is taken`);
    all[kind].set(preset.id, preset);
  }
}

// Numbers outside models stand in {value, unit, source}; those of models have their unit in the schema and their source
// in `sources` or beside them.
function bareNumbers(value, path) {
  if (typeof value === 'number') return [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => bareNumbers(item, `${path}/${index}`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const isQuantity = (key === 'value' || key === 'prior') && 'unit' in value && 'source' in value;
    const isChoice = key === 'value' && 'source' in value && !('unit' in value) && path.endsWith('/expertTensor');
    return isQuantity || isChoice ? [] : bareNumbers(member, `${path}/${key}`);
  });
}
for (const kind of ['accelerators', 'clusters', 'software']) {
  for (const [id, preset] of all[kind]) {
    for (const path of bareNumbers(preset, '')) faults.push(`presets/${kind}/${id}.json${path}: no unit and source`);
  }
}
function unitless(schema, path) {
  const types = [schema.type].flat();
  const isNumber = types.includes('integer') || types.includes('number');
  const own = isNumber && !('x-unit' in schema) ? [path] : [];
  const members = Object.entries(schema.properties ?? {}).flatMap(([key, member]) => unitless(member, `${path}/${key}`));
  return [...own, ...members, ...(schema.items ? unitless(schema.items, `${path}/items`) : [])];
}
for (const path of unitless(readJson(join(presets, 'schema/model.schema.json')), '')) {
  faults.push(`presets/schema/model.schema.json${path}: no x-unit`);
}
for (const [id, model] of all.models) {
  if (model.extraParameters !== 0 && !model.sources?.extraParameters) {
    faults.push(`presets/models/${id}.json/extraParameters: no source`);
  }
}

for (const [id, cluster] of all.clusters) {
  if (!all.accelerators.has(cluster.accelerator)) {
    faults.push(`presets/clusters/${id}.json/accelerator: there is no accelerator ${cluster.accelerator}`);
  }
  const lowest = cluster.usdPerDeviceHour?.value;
  if (lowest > 0 && !cluster.prices.some((price) => price.value === lowest)) {
    faults.push(`presets/clusters/${id}.json/usdPerDeviceHour: is none of the prices`);
  }
}

const owners = new Map();
for (const [id, profile] of all.software) {
  for (const prefix of profile.frameworks ?? []) {
    if (owners.has(prefix)) {
      faults.push(`presets/software/${id}.json/frameworks: "${prefix}" belongs to ${owners.get(prefix)} already`);
    }
    owners.set(prefix, id);
  }
}

if (faults.length === 0) {
  // The bundle must stay finite after conversion, and the same twice.
  const bundle = JSON.stringify(buildCatalogue(presets));
  if (bundle !== JSON.stringify(buildCatalogue(presets))) faults.push('presets: two bundles differ');
}
for (const fault of faults) console.error(fault);
console.log(`${files} presets checked, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
