import { defineConfig } from '@playwright/test';

const port = 4173;

export default defineConfig({
  testDir: 'e2e',
  outputDir: '../build/reports/playwright',
  workers: 1,
  timeout: 60_000,
  reporter: 'list',
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    launchOptions: {
      executablePath: '/usr/bin/chromium', // the distribution's
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    },
  },
  // the built page, under the strict content security policy of production
  webServer: { command: `node ../scripts/serve.mjs --port ${port}`, url: `http://127.0.0.1:${port}/`, reuseExistingServer: false },
});
