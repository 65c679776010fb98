import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { SHOWN } from "../../../test/support/browser.ts";

/** The window sizes in which every page is checked. They include light and dark mode. */
const LOOKS = [
  { name: "wide", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { name: "middle", viewport: { width: 1024, height: 768 }, colorScheme: "dark" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
] as const;

/** The violations that axe finds in the current page: the rule and the elements. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>("axe.run()");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** Expects in each size and mode that axe finds no violation and that nothing is wider than the window. */
export async function looksWell(page: Page, title: string): Promise<void> {
  for (const { name, viewport, colorScheme } of LOOKS) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const width = () => page.evaluate("document.documentElement.scrollWidth");
    await expect.poll(width, { ...SHOWN, message: `${title}, ${name}` }).toBe(viewport.width);
    expect(await faultsOf(page), `${title}, ${name}`).toEqual([]);
  }
}
