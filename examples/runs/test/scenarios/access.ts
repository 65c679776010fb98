import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { looksWell } from "../axe.ts";
import { openAt, rowOf } from "../page.ts";

const PHONE = { width: 390, height: 844 };
const ZOOMED = { width: 640, height: 400 };

test.runIf(hasBrowser).each([
  ["start", "", "All runs of ada.mnist"],
  ["list", "#list=ada.mnist.1&sort=metric.loss&filter=lr>0.01", "Runs without loss"],
  ["groups", "#list=ada.mnist.1&group=parameter.lr&pin=metric.loss", "lr"],
  ["run", "#list=ada.mnist.1&run=ada.mnist.1.10", "Charts"],
  ["log", "#list=ada.mnist.1&run=ada.mnist.1.10&show=log", "epoch"],
  ["files", "#list=ada.mnist.1&run=ada.mnist.1.10&show=files", "Download outputs"],
  ["compare", "#list=ada.mnist&compare=ada.mnist.1.44,ada.mnist.42", "2 runs compared"],
  ["matters", "#list=ada.mnist.1&matters=loss", "spread between groups"],
  ["archive", "#archive=all", "Archived runs of all projects"],
])("the page %s is accessible at three window sizes", async (name, hash, shown) => {
  const { page } = await openAt(hash);
  await page.getByText(shown).or(page.getByLabel(shown)).first().waitFor();
  await looksWell(page, name);
  expect(await page.title()).toMatch(/Runs$/);
});

test.runIf(hasBrowser).each([PHONE, ZOOMED])("menus and dialogs fit in a window of %o", async (viewport) => {
  const { page } = await openAt("#list=ada.mnist.1", { viewport, hasTouch: true });
  await page.getByRole("button", { name: "Filter, groups and columns" }).tap();
  for (const name of ["Columns", "Views", "Export"]) {
    await page.getByRole("button", { name, exact: true }).tap();
    const { x = -1, width = 0 } = (await page.locator(":popover-open").boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(viewport.width);
    await page.keyboard.press("Escape");
  }
  await rowOf(page, "ada.mnist.1.28").tap();
  await page.getByRole("button", { name: "New run" }).tap();
  const dialog = page.getByRole("dialog");
  expect(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await dialog.getByRole("button", { name: "Cancel" }).tap();
});

test.runIf(hasBrowser)("the page can be used with the keyboard alone", async () => {
  const { page } = await openAt("");
  const { keyboard } = page;
  const focused = page.locator(":focus");
  /** Presses Tab until something with this name has the focus. */
  const tabTo = async (name: string) => {
    for (let presses = 0; presses < 60; presses += 1) {
      await keyboard.press("Tab");
      const text = await focused.evaluate(
        (element) => element.getAttribute("aria-label") ?? element.textContent,
      );
      if (text?.startsWith(name)) return;
    }
    throw new Error(`expected ${name} within 60 stops, got others`);
  };
  await page.getByRole("link", { name: "ada.mnist.1" }).waitFor();
  await tabTo("ada.mnist.1");
  await keyboard.press("Enter");
  await rowOf(page, "ada.mnist.1.46").waitFor();
  await tabTo("loss");
  await keyboard.press("Enter");
  await page.getByText("Runs without loss are left out.").waitFor();
  await tabTo("ada.mnist.1.");
  const first = await focused.innerText();
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: first }).waitFor();
  await tabTo("Files");
  await keyboard.press("Enter");
  await page.getByRole("button", { name: "Download outputs" }).waitFor();
  expect(await focused.innerText()).toBe("Files");
});

test.runIf(hasBrowser)("a phone shows either the list or a run, with large buttons", async () => {
  const { page } = await openAt("#list=ada.mnist.1", { viewport: PHONE, hasTouch: true });
  await rowOf(page, "ada.mnist.1.44").tap();
  await page.getByRole("heading", { name: "ada.mnist.1.44" }).waitFor();
  expect(await page.getByRole("table").isVisible()).toBe(false);
  for (const button of await page.getByRole("button").filter({ visible: true }).all())
    expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(40);
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "ada.mnist.1" }).tap();
  await page.getByRole("table").waitFor();
});
