// Serves the built page on loopback under the Content-Security-Policy that a production host should send.
// Usage: node scripts/serve.mjs [--root build/site] [--port 4173] [--strict-port]
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '..');

const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
};

// The file that a request's path names, or null: nothing outside of the root, also not through a symbolic link.
async function locate(root, url) {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    if (path.includes('\0')) return null;
    const file = await realpath(join(root, path.endsWith('/') ? `${path}index.html` : path));
    const entry = await stat(file);
    return entry.isFile() && file.startsWith(root + sep) ? { file, size: entry.size } : null;
  } catch {
    return null;
  }
}

function serve(root) {
  return createServer(async (request, response) => {
    const headers = {
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { ...headers, Allow: 'GET, HEAD' }).end();
      return;
    }
    const found = await locate(root, request.url ?? '/');
    if (!found) {
      response.writeHead(404, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' }).end('Not found\n');
      return;
    }
    response.writeHead(200, {
      ...headers,
      'Content-Type': types[extname(found.file)] ?? 'application/octet-stream',
      'Content-Length': found.size,
    });
    if (request.method === 'HEAD') response.end();
    else createReadStream(found.file).on('error', () => response.destroy()).pipe(response);
  });
}

function fail(message) {
  console.error(`serve: ${message}`);
  process.exit(1);
}

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: join(checkout, 'build', 'site') },
    port: { type: 'string', default: '4173' },
    'strict-port': { type: 'boolean', default: false },
  },
});
let port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65535) fail(`the port must be 0 to 65535, got ${values.port}`);
const root = await realpath(values.root).catch(() => fail(`there is no ${values.root}; run scripts/build first`));

const server = serve(root);
const lastPort = Math.min(port + 100, 65535);
server.on('error', (error) => {
  if (error.code !== 'EADDRINUSE' || values['strict-port'] || port >= lastPort) fail(error.message);
  port += 1;
  server.listen(port, '127.0.0.1');
});
server.on('listening', () => console.log(`Meshwise is served at http://127.0.0.1:${server.address().port}/`));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
server.listen(port, '127.0.0.1');
