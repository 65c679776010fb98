import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { preview } from "vite";
import { expect, onTestFinished, vi } from "vitest";
import { shareBrowser, SHOWN, reportMissingBrowser } from "../../../test/support/browser.ts";
import { onceARun } from "../../../test/support/once-a-run.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

reportMissingBrowser("the tests of examples/runs");

await onceARun("page", () => {
  const env = { ...process.env, NODE_ENV: "production" };
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, env });
});

const openPage = shareBrowser();

const WIDE = { width: 1400, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** The built page in a browser, behind the proxy of vite.config.ts. */
export async function open(gatewayUrl: string, options: BrowserContextOptions = {}) {
  vi.stubEnv("GATEWAY", gatewayUrl);
  const server = await preview({ root, logLevel: "silent", preview: { host: "127.0.0.1", port: 0 } });
  vi.unstubAllEnvs();
  onTestFinished(() => server.close());

  const page = await openPage({ viewport: WIDE, ...options });
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/graphql")) sent.push(request.postDataJSON().operationName);
  });
  const address = server.resolvedUrls?.local[0] ?? "";
  await page.goto(address);
  return {
    page,
    address,
    /** Breaks what the page has open, as a network does. */
    breakConnections: () => {
      const { httpServer } = server;
      if ("closeAllConnections" in httpServer) httpServer.closeAllConnections();
    },
    /** Names of the operations that the page sent since the last look. */
    sent: () => sent.splice(0),
    /** The cells of the table but for the duration and the image, a line a run. */
    rows: async () =>
      (await page.locator("tbody tr").allInnerTexts()).map((line) => line.split("\t").slice(0, -2)),
    /** A run's row, as its link. */
    row: (name: string) => page.getByRole("table").getByRole("link", { name, exact: true }),
    graph: page.getByRole("group", { name: "Run graph" }),
    /** Takes a picture for the documentation if the variable PICTURE names a folder for it. */
    picture: async (name: string) => {
      const folder = process.env["PICTURE"];
      if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
    },
  };
}

export async function signIn(page: Page, username: string, password = `${username}-demo`) {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Chooses a status by which the list is filtered. */
export async function chooseStatus(page: Page, name: string) {
  const statuses = page.locator(".statuses");
  if ((await statuses.getAttribute("open")) === null) await statuses.locator("summary").click();
  await statuses.getByLabel(name).click();
  // Until the page has followed the address, another one would be chosen instead of both.
  await statuses.getByLabel(name).and(page.locator(":checked")).waitFor({ state: "attached" });
}

/** Waits until the table shows what comes in later pieces of its answer. */
export const allThere = (page: Page) =>
  expect.poll(() => page.getByRole("cell", { name: "…", exact: true }).count(), SHOWN).toBe(0);

/** What has the focus, by its name; `body` if nothing has. */
export const focusIn = (page: Page) =>
  page.evaluate<string>(`(() => {
    const { activeElement } = document;
    if (activeElement === document.body) return "body";
    return activeElement.getAttribute("aria-label") || activeElement.name || activeElement.textContent;
  })()`);

/** The text of the one alert of the page, once there is one. */
export const alertOf = (page: Page) => page.getByRole("alert").innerText();
