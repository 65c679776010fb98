import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { shareBrowser, SHOWN } from "../support/browser.ts";

export const WIDE = { width: 1400, height: 900 };
export const NARROW = { width: 390, height: 844 };

/** Opens GraphiQL in the browser of the test file. */
export function shareGraphiql() {
  const openPage = shareBrowser();
  return async (url: string, viewport = WIDE, first = "Welcome", options: BrowserContextOptions = {}) => {
    const page = await openPage({ viewport, ...options });
    // The browser has no internet access: every request to a host other than the gateway fails.
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) elsewhere.push(request.url());
    });
    // Errors of the browser: violations of the content security policy, and exceptions.
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (problem) => complaints.push(problem.message));
    await page.goto(url);
    await tabOf(page, first).waitFor();
    return { page, elsewhere, complaints };
  };
}

/** Waits for a few frames, after which the effect of a pressed button is visible. */
const FRAMES = `new Promise((resolve) => {
  const wait = (frames) => (frames === 0 ? resolve() : requestAnimationFrame(() => wait(frames - 1)));
  wait(8);
})`;

/** Presses the mouse button for some frames while the pointer slides between two positions of the width. */
async function press(page: Page, target: Locator, placesOf: (width: number) => [from: number, to: number]) {
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  if (!box) throw new TypeError("expected something to click on, got nothing that is shown");
  const y = box.y + box.height / 2;
  const [from, to] = placesOf(box.width).map((place) => box.x + place);
  await page.mouse.move(from ?? 0, y);
  await page.mouse.down();
  await page.mouse.move(to ?? 0, y, { steps: 10 });
  await page.evaluate(FRAMES);
  await page.mouse.up();
}

export const click = (page: Page, target: Locator) =>
  press(page, target, (width) => [width / 2, width / 2 + 2]);

export const tabOf = (page: Page, name: string) => page.getByRole("tab").filter({ hasText: name });
export const answerOf = (page: Page) => page.locator(".graphiql-response");
export const run = (page: Page) => click(page, page.getByRole("button", { name: /execute query/i }));

const chosen = (page: Page, name: string) =>
  expect.poll(() => tabOf(page, name).getAttribute("aria-selected"), SHOWN).toBe("true");

/** Clicks on a tab, which becomes the active one. The pointer slides along the tab, which must not drag it. */
export async function choose(page: Page, name: string): Promise<void> {
  await press(page, tabOf(page, name), (width) => [5, width - 30]);
  await chosen(page, name);
}

export const menuOf = (page: Page, name: string) =>
  page.locator(".menu").filter({ has: page.getByText(name, { exact: true }) });

/** The whole response. The editor renders only the lines on the screen. */
export const shownIn = (page: Page) =>
  page.evaluate<string>(
    `monaco.editor.getModels().find(({ uri }) => uri.path.endsWith("response.json")).getValue()`,
  );

/** Opens an operation from the list in a new tab. */
export async function openOperation(page: Page, name: string): Promise<void> {
  const menu = menuOf(page, "Operations");
  await click(page, menu.locator("summary"));
  await click(
    page,
    menu
      .getByRole("button")
      .filter({ hasText: new RegExp(`^${name}`) })
      .last(),
  );
  await chosen(page, name);
}

/** Reloads after the selected tab is stored, which GraphiQL does a moment later. */
export async function reload(page: Page, name: string): Promise<void> {
  const isStored = async () => {
    const stored = await page.evaluate(() => JSON.stringify(Object.entries(globalThis.localStorage)));
    const entries = JSON.parse(stored) as [name: string, value: string][];
    const [, text = "null"] = entries.find(([key]) => key.endsWith(":tabState")) ?? [];
    const state = JSON.parse(text) as { tabs: { title: string }[]; activeTabIndex: number } | null;
    return state?.tabs[state.activeTabIndex]?.title;
  };
  await expect.poll(isStored, SHOWN).toBe(name);
  await page.reload();
  await chosen(page, name);
}

/** Whether the whole element is inside the window. */
export async function isOnScreen(target: Locator, { width, height }: typeof WIDE): Promise<boolean> {
  const box = (await target.isVisible()) ? await target.boundingBox() : null;
  return (
    box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height
  );
}

/** The contents of the browser's storage. */
export const storesOf = (page: Page) =>
  page.evaluate(() => ({
    local: JSON.stringify(globalThis.localStorage),
    session: JSON.stringify(globalThis.sessionStorage),
  }));

export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await click(page, page.getByRole("button", { name: "Sign in" }));
}
