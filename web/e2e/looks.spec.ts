import AxeBuilder from '@axe-core/playwright';
import { expect, openAnswered, plans, test } from './support.ts';

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of [['desktop', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844 }]] as const) {
    test.describe(`${device}, ${colorScheme}`, () => {
      test.use({ colorScheme, viewport });

      test('accessible by axe', async ({ page }) => {
        await openAnswered(page);
        for (const details of await page.locator('details > summary').all()) await details.click();
        const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']).analyze();
        expect(violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')}`)).toEqual([]);
      });

      test('never scrolls sideways', async ({ page }) => {
        await openAnswered(page);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        expect(overflow).toBeLessThanOrEqual(0);
      });
    });
  }
}

test('reflows at 320 pixels', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await openAnswered(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  await expect(plans(page).first()).toBeVisible();
});
