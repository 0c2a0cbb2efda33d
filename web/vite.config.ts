import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;
// Where the WebAssembly build left meshwise.mjs and meshwise.wasm, and the catalogue made from presets/.
const engineDir = resolve(root, process.env.MESHWISE_ENGINE_DIR ?? '../build/wasm-release');
const catalogue = resolve(root, process.env.MESHWISE_CATALOGUE ?? '../build/catalogue.json');

export default defineConfig({
  root,
  base: './', // works from any sub-path of a static host
  resolve: {
    alias: [
      { find: '#engine', replacement: resolve(engineDir, 'meshwise.mjs') },
      { find: /^#catalogueSources/, replacement: catalogue.replace(/\.json$/, '-sources.json') },
      { find: /^#catalogue(?=\?)/, replacement: catalogue },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: process.env.MESHWISE_SITE_DIR ?? '../build/site',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // data: URLs would need a wider content security policy
    modulePreload: { polyfill: false },
    rolldownOptions: { input: { index: resolve(root, 'index.html') } },
  },
  worker: { format: 'es' },
  server: { fs: { allow: [resolve(root, '..'), engineDir] } },
  test: { include: ['test/**/*.test.ts'], environment: 'node' },
});
