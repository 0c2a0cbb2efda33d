import { readFileSync } from 'node:fs';
import { expect, fill, openAnswered, plans, stepTime, test, verdict } from './support.ts';

test('opens with an answer on screen', async ({ page }) => {
  await openAnswered(page);
  await expect(verdict(page)).toContainText(/TP \d+/);
  await expect(plans(page)).toHaveCount(10);
  await expect(page.getByText(/layouts considered/)).toBeVisible();
  // the paper's names stand beside the terms
  for (const symbol of ['TF', 'TCT', 'TCD', 'TB']) await expect(page.getByText(symbol, { exact: true }).first()).toBeVisible();
});

test('follows what is typed', async ({ page }) => {
  await openAnswered(page);
  const before = await stepTime(page).innerText();
  await fill(page, 'Devices', '128');
  await expect(stepTime(page)).not.toHaveText(before);
  await fill(page, 'Global batch', '512');
  await expect(plans(page).first()).toBeVisible();
});

test('every preset is a search away', async ({ page }) => {
  await openAnswered(page);
  const model = page.getByRole('combobox', { name: 'Model' });
  await model.click();
  await model.fill('gpt-2 xl');
  await page.getByRole('option', { name: /GPT-2 XL/ }).first().click();
  await expect(page.getByText(/48 layers/).first()).toBeVisible();
  await expect(plans(page).first()).toBeVisible();
});

test('a wrong number is kept, and the reason stands beside it', async ({ page }) => {
  await openAnswered(page);
  const devices = page.getByLabel('Devices', { exact: true }).first();
  await devices.fill('-8');
  await devices.press('Tab');
  await expect(devices).toHaveValue('-8');
  await expect(devices).toHaveAttribute('aria-invalid', 'true');
  const described = await devices.getAttribute('aria-describedby');
  expect(described).toBeTruthy();
  const texts = await Promise.all(described!.split(' ').map((id) => page.locator(`[id="${id}"]`).innerText()));
  expect(texts.join(' ')).toMatch(/1|from|least|positive/i);
  await devices.fill('64');
  await devices.press('Tab');
  await expect(devices).not.toHaveAttribute('aria-invalid', 'true');
});

test('why not: a broken rule, a layout that is too large, a slower one', async ({ page }) => {
  await openAnswered(page);
  const why = page.locator('#why');
  const ask = async (tensor: string, pipeline: string) => {
    await why.getByLabel('Tensor', { exact: true }).fill(tensor);
    await why.getByLabel('Pipeline', { exact: true }).fill(pipeline);
    await why.getByRole('button', { name: 'Explain' }).click();
  };
  await ask('1', '64');
  await expect(why.getByText('Not a legal layout').first()).toBeVisible();
  await ask('1', '1');
  await expect(why.getByText(/does not fit/).first()).toBeVisible();
  await why.getByRole('button', { name: 'Fill in plan 1' }).click();
  await why.getByRole('button', { name: 'Explain' }).click();
  await expect(why.getByText(/best plan|In the ranking/).first()).toBeVisible();
});

test('nothing fits: the page says so and stays', async ({ page }) => {
  await page.goto('./?model=llama-3.1-405b&cluster=dgx-h100&devices=8&seq=8192&gbs=8');
  await expect(page.getByText('No layout fits.').first()).toBeVisible({ timeout: 20_000 });
});

test('a link reopens to the same inputs and numbers in a clean profile', async ({ page, browser, baseURL }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await openAnswered(page);
  await fill(page, 'Devices', '96');
  await expect(page.getByLabel('Devices', { exact: true }).first()).toHaveValue('96');
  await page.waitForTimeout(1500);
  const [title, step] = [(await page.locator('.verdict-layout').textContent())!, await stepTime(page).innerText()];
  await page.getByRole('button', { name: 'Copy link' }).click();
  await expect(page.getByText(/Link copied/)).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link.startsWith(baseURL!)).toBe(true);
  expect(link.length).toBeLessThan(2000);
  const clean = await browser.newContext();
  const other = await clean.newPage();
  await other.goto(link);
  await expect(other.locator('.verdict-layout')).toHaveText(title, { timeout: 20_000 });
  await expect(stepTime(other)).toHaveText(step);
  await expect(other.getByLabel('Devices', { exact: true }).first()).toHaveValue('96');
  await clean.close();
});

test('a damaged link says so and leaves a usable page', async ({ page }) => {
  await openAnswered(page, './#1.eJwrSSwuUSguKcrMSwcAIQkFdA.e');
  await expect(page.getByText(/link is damaged/)).toBeVisible();
  await expect(plans(page).first()).toBeVisible();
});

test('hostile links run nothing', async ({ page }) => {
  for (const hash of ['#<img src=x onerror=alert(1)>', '#1.%3Cscript%3E.e', '#javascript:alert(1).e', `#1.${'A'.repeat(20000)}.e`]) {
    await page.goto('about:blank');
    await openAnswered(page, `./${hash}`);
  }
  await page.goto('./?model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&devices=16');
  await expect(page.getByRole('combobox', { name: 'Model' })).toBeVisible();
});

test('a request file opens', async ({ page }) => {
  await openAnswered(page);
  await page.locator('input[type=file]').setInputFiles('../tests/golden/requests/gpt-3-175b-1024-a100.json');
  await expect(page.getByLabel('Devices', { exact: true }).first()).toHaveValue(/1,?024/);
  await expect(plans(page).first()).toBeVisible();
});

test('the page and the terminal give the same numbers', async ({ page, baseURL }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await openAnswered(page);
  await page.getByRole('button', { name: 'Copy answer JSON' }).click();
  const answer = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  expect(baseURL).toBeTruthy();
  // @ts-expect-error: a script of the terminal tool, without types
  const { loadEngine } = await import('../../scripts/lib/engine.mjs');
  const engine = await loadEngine();
  expect(JSON.parse(engine.plan(JSON.stringify(answer.request))).plans).toEqual(answer.plans);
});

test('a killed worker leaves a usable page', async ({ page }) => {
  await openAnswered(page);
  // as a trap in the module would: the worker is gone in the middle of the work
  await page.evaluate(() => {
    const original = Worker.prototype.postMessage;
    let killed = false;
    Worker.prototype.postMessage = function (this: Worker, ...args: unknown[]) {
      if (!killed) {
        killed = true;
        this.dispatchEvent(new ErrorEvent('error', { message: 'killed by the test', cancelable: true }));
        this.terminate();
        return;
      }
      return (original as (...a: unknown[]) => void).apply(this, args);
    };
  });
  const before = await stepTime(page).innerText();
  await fill(page, 'Devices', '32');
  await page.waitForTimeout(500);
  await fill(page, 'Devices', '48');
  await expect(stepTime(page)).not.toHaveText(before, { timeout: 30_000 });
  await expect(plans(page).first()).toBeVisible();
});

test('the keyboard alone: pick a plan, ask why', async ({ page }) => {
  await openAnswered(page);
  await plans(page).first().focus();
  await page.keyboard.press('ArrowDown');
  await expect(plans(page).nth(1)).toBeChecked();
  await page.locator('#why').getByLabel('Tensor', { exact: true }).focus();
  await page.keyboard.type('2');
  await page.keyboard.press('Enter');
  await expect(page.locator('#why [role=status]')).not.toBeEmpty();
});

test('no script or style is inline in the page', () => {
  const html = readFileSync('../build/site/index.html', 'utf8');
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src)|\son[a-z]+=/);
});
