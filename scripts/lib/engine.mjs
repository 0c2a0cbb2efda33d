// Loads the built engine and the catalogue of presets under Node.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const built = join(root, 'build', 'wasm-release');

export class EngineMissing extends Error {}

// The module with its catalogue loaded. Throws EngineMissing when it has not been built.
export async function loadEngine(cataloguePath = join(root, 'build', 'catalogue.json')) {
  const module = join(built, 'meshwise.mjs');
  const wasm = join(built, 'meshwise.wasm');
  for (const file of [module, wasm, cataloguePath]) {
    if (!existsSync(file)) throw new EngineMissing(`${file} is not there; run scripts/build wasm first`);
  }
  const { default: createEngine } = await import(pathToFileURL(module).href);
  const engine = await createEngine({ wasmBinary: readFileSync(wasm) });
  const loaded = JSON.parse(engine.loadCatalogue(readFileSync(cataloguePath, 'utf8')));
  if (!loaded.ok) throw new Error(`the catalogue is refused: ${JSON.stringify(loaded.issues)}`);
  return engine;
}
