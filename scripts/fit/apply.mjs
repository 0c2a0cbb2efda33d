// Writes fitted constants into the presets, each with where it comes from.
//   node scripts/fit/apply.mjs RESULT.json [PRESETS_FOLDER]
// RESULT.json is what meshwise_fit prints. Constants that the runs do not see are left as they are.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [resultPath, folder] = process.argv.slice(2);
if (!resultPath) {
  console.error('usage: node scripts/fit/apply.mjs RESULT.json [PRESETS_FOLDER]');
  process.exit(2);
}
const presets = resolve(folder ?? join(dirname(fileURLToPath(import.meta.url)), '../../presets'));
const result = JSON.parse(readFileSync(resultPath === '-' ? 0 : resultPath, 'utf8'));

// the same grouping as in fit.cpp: accelerators that share their constants
const generations = [
  [/^a[18]00/, 'a100'],
  [/^(h100|h800|h200|gh200)/, 'h100'],
  [/^g?b[23]00/, 'b200'],
  [/^ascend-910b/, 'ascend-910b'],
];
const generationOf = (id) => generations.find(([pattern]) => pattern.test(id))?.[1] ?? id;

const significant = (value) => Number(value.toPrecision(3));

// Replaces the value and the source of one field in the file's text, and keeps everything else as it was.
function rewrite(text, field, value, source) {
  const pattern = new RegExp(`("${field}":\\s*\\{)([^}]*)\\}`);
  if (!pattern.test(text)) throw new Error(`no field ${field}`);
  return text.replace(pattern, (whole, head, body) => {
    const before = body.match(/"value":\s*([-+0-9.eE]+)/)[1];
    const next = body
      .replace(/("value":\s*)[-+0-9.eE]+/, body.includes('"prior"') ? `$1${value}` : `$1${value}, "prior": ${before}`)
      .replace(/("source":\s*)"(?:[^"\\]|\\.)*"/, (match, key) => `${key}${JSON.stringify(source)}`);
    return `${head}${next}}`;
  });
}

const errorText = (side) => {
  const e = result.errors?.[side];
  return e ? `${(100 * e.meanOfFamilyMedians).toFixed(1)} %` : 'none';
};
const scores = `mean of family medians ${errorText('fitted')} on the fitted groups, ${errorText('leftOut')} on groups left out`;

let changed = 0;
for (const name of readdirSync(join(presets, 'accelerators'))) {
  const generation = result.generations?.[generationOf(name.replace(/\.json$/, ''))];
  if (!generation || generation.runs < 4) continue;
  const path = join(presets, 'accelerators', name);
  let text = readFileSync(path, 'utf8');
  for (const [field, constant] of Object.entries(generation.constants)) {
    if (!constant.identified) continue;
    text = rewrite(
      text,
      field,
      significant(constant.value),
      `fitted on ${generation.runs} runs in ${generation.groups} groups of ${generation.families.join(', ')}; prior ${significant(constant.prior)}; ${scores}`,
    );
    changed += 1;
  }
  writeFileSync(path, text);
}
for (const [id, profile] of Object.entries(result.profiles ?? {})) {
  if (profile.runs < 4) continue;
  const path = join(presets, 'software', `${id}.json`);
  let text = readFileSync(path, 'utf8');
  for (const [field, constant] of Object.entries(profile.constants)) {
    if (!constant.identified || !text.includes(`"${field}"`)) continue;
    text = rewrite(text, field, significant(constant.value), `fitted on ${profile.runs} runs; prior ${significant(constant.prior)}; ${scores}`);
    changed += 1;
  }
  writeFileSync(path, text);
}
console.log(`${changed} constants written`);
