import { expect, test as base, type Page } from '@playwright/test';

// Every test fails on a console error, a violated policy, or a request that leaves the origin.
export const test = base.extend<{ watch: void }>({
  watch: [
    async ({ page, baseURL }, use) => {
      const faults: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(`console: ${message.text()}`);
      });
      page.on('pageerror', (error) => faults.push(`page: ${error.message}`));
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(baseURL!) && !url.startsWith('blob:') && !url.startsWith('data:')) faults.push(`request: ${url}`);
      });
      await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
      });
      await use();
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

export const verdict = (page: Page) => page.locator('#answer');
export const plans = (page: Page) => page.getByRole('radio', { name: /^Plan \d+:/ });
export const stepTime = (page: Page) => page.locator('.card', { hasText: 'Step time' }).locator('.card-value');

export async function openAnswered(page: Page, address = './') {
  await page.goto(address);
  await expect(plans(page).first()).toBeVisible({ timeout: 20_000 });
}

// Types into a field and leaves it; waits until the answer follows.
export async function fill(page: Page, label: string, text: string) {
  const field = page.getByLabel(label, { exact: true }).first();
  await field.fill(text);
  await field.press('Tab');
}
