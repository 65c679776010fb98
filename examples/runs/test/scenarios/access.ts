import { expect, test } from "vitest";
import { startDemoGateway } from "../../../../test/support/demo-gateway.ts";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { open, PHONE, signIn } from "../page.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

test.runIf(hasBrowser)("the app can be used by keyboard alone, with visible focus", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, graph } = await open(url);
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

  await page.getByLabel("User name").and(focused).waitFor();
  await keyboard.type("ada");
  await keyboard.press("Tab");
  await keyboard.type("ada-demo");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Projects of ada" }).waitFor();
  await page.getByRole("link", { name: "ada.mnist.1" }).waitFor();
  await tabTo("ada.mnist.1");
  await keyboard.press("Enter");
  await page.getByRole("table").waitFor();
  await tabTo("loss");
  await keyboard.press("Enter");
  await page.getByText("Sorted by loss, best first.").waitFor();
  await tabTo("ada.mnist.1.");
  const first = await focused.innerText();
  await keyboard.press("ArrowDown");
  expect(await focused.innerText()).not.toBe(first);
  await keyboard.press("ArrowUp");
  expect(await focused.innerText()).toBe(first);
  expect(await focused.evaluate((element) => getComputedStyle(element, "::after").outlineStyle)).toBe(
    "solid",
  );
  await keyboard.press("Enter");
  await graph.waitFor();

  await tabTo("Value of accuracy");
  const reading = page.getByRole("slider", { name: "Value of accuracy" });
  const last = await reading.getAttribute("aria-valuetext");
  await keyboard.press("Home");
  expect(await reading.getAttribute("aria-valuetext")).toMatch(/ at 0:00$/);
  expect(last).not.toMatch(/ at 0:00$/);
  await tabTo("Download outputs");
  const saving = page.waitForEvent("download");
  await keyboard.press("Enter");
  expect((await saving).suggestedFilename()).toMatch(/\.tar\.gz$/);
});

test.runIf(hasBrowser)("a phone shows one focused view at a time, without horizontal scrolling", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row, graph, picture } = await open(url, {
    viewport: PHONE,
    hasTouch: true,
    deviceScaleFactor: 2,
  });
  const isTooWide = () => page.evaluate("document.documentElement.scrollWidth > innerWidth");
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).tap();
  await row("ada.mnist.1.44").waitFor();
  expect(await isTooWide()).toBe(false);

  await row("ada.mnist.1.44").tap();
  await graph.waitFor();
  expect(await page.getByRole("table").isVisible()).toBe(false);
  await picture("runs-phone");
  expect(await page.locator(":focus").innerText()).toMatch(/^ada\.mnist\.1\.44/);
  expect(await isTooWide()).toBe(false);
  for (const button of await page.getByRole("button").all()) {
    expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(40);
  }

  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "ada.mnist.1" }).tap();
  await page.getByRole("table").waitFor();
  expect(await graph.count()).toBe(0);
  expect(await page.locator(":focus").getAttribute("aria-label")).toBe("ada.mnist.1");
});

/** Each text that is shown, with its contrast to what is behind it, as WCAG 2.2 computes it. */
const CONTRASTS = `(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const [r, g, b] = rgba(colour).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if (rgba(backgroundColor)[3] === 255) return backgroundColor;
    }
    return "white";
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) =>
    element.checkVisibility() && element.ariaDisabled !== "true" &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return texts.map((element) => {
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [light, dark] = [luminance(colour), luminance(behind(element))].toSorted((a, b) => b - a);
    return { text: element.textContent, contrast: (light + 0.05) / (dark + 0.05) };
  });
})()`;

test.runIf(hasBrowser)("all text has sufficient contrast in light and in dark mode", async () => {
  const now = Date.now();
  const { url } = await startDemoGateway({ env, now: () => now });
  for (const colorScheme of ["light", "dark"] as const) {
    const viewport = { width: 1280, height: 850 };
    const { page, row, graph, picture } = await open(url, { colorScheme, viewport, deviceScaleFactor: 2 });
    await signIn(page, "ada");
    await page.getByRole("link", { name: "ada.mnist.1" }).click();
    await page.getByRole("link", { name: "loss" }).click();
    await row("ada.mnist.1.44").click();
    await graph.waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    const measured = await page.evaluate<readonly { text: string; contrast: number }[]>(CONTRASTS);
    expect(measured.length).toBeGreaterThan(100);
    expect(measured.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
    const ground = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    expect(ground).toBe(colorScheme === "light" ? "rgb(245, 246, 248)" : "rgb(14, 18, 24)");
    await picture(colorScheme === "light" ? "runs" : "runs-dark");
  }
});
