import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** What axe finds at fault in the page as it is now: rule, and the elements. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>("axe.run()");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** The sizes and modes in which every page is looked at. */
export const LOOKS = [
  { name: "wide", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { name: "wide-dark", viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  { name: "middle", viewport: { width: 1024, height: 768 }, colorScheme: "light" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
  { name: "phone-dark", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
] as const;
