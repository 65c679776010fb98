import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { preview } from "vite";
import { expect, onTestFinished, vi } from "vitest";
import { reportMissingBrowser, shareBrowser, SHOWN } from "../../../test/support/browser.ts";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";
import { fakeClock } from "../../../test/support/fake-clock.ts";
import { onceARun } from "../../../test/support/once-a-run.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

reportMissingBrowser("the tests of examples/runs");

await onceARun("page", () => {
  const env = { ...process.env, NODE_ENV: "production" };
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, env });
});

const openPage = shareBrowser();

interface Options extends BrowserContextOptions {
  readonly profile?: string;
  /** The user that signs in. Null: nobody signs in. */
  readonly user?: string | null;
}

/** Opens the built page at an address, behind the proxy of vite.config.ts. The test advances the time of the service and the polls. */
export async function openAt(
  hash: string,
  { profile = "polyaxon-0.4", user = "ada", ...options }: Options = {},
) {
  let now = Date.now();
  const { clock, advance } = fakeClock();
  const gateway = await startDemoGateway({ env: { UPSTREAM_PROFILE: profile }, now: () => now, clock });
  vi.stubEnv("GATEWAY", gateway.url);
  const server = await preview({ root, logLevel: "silent", preview: { host: "127.0.0.1", port: 0 } });
  vi.unstubAllEnvs();
  onTestFinished(() => server.close());
  const address = server.resolvedUrls?.local[0] ?? "";

  const page = await openPage({ viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(message));
  onTestFinished(() => expect(complaints).toEqual([]));
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/graphql")) sent.push(request.postDataJSON().operationName);
  });
  await page.goto(`${address}${hash}`);
  if (user) await signIn(page, user);
  return {
    ...gateway,
    page,
    address,
    /** Names of the operations that the page has sent since the last call. */
    sent: () => sent.splice(0),
    /** Closes all connections of the page, as a network failure does. */
    breakConnections: () => {
      const { httpServer } = server;
      if ("closeAllConnections" in httpServer) httpServer.closeAllConnections();
    },
    /** Advances the time of the service by some seconds. */
    work: (seconds: number) => {
      now += seconds * 1_000;
    },
    /** Lets the gateway poll until an element is visible. */
    pollUntil: (shown: Locator) =>
      expect
        .poll(async () => {
          const isShown = await shown.isVisible();
          if (!isShown) advance(1_000);
          return isShown;
        }, SHOWN)
        .toBe(true),
  };
}

export async function signIn(page: Page, username: string) {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(`${username}-demo`);
  await page.getByRole("button", { name: "Sign in" }).click();
  // Waits for the end of the sign-in. A reload before that would lose the session.
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** The cells of each table row: the name or the group first, then the columns. */
export const linesOf = async (page: Page) =>
  (await page.getByRole("table").first().locator("tbody tr:not(.spacer)").allInnerTexts()).map((line) =>
    line.split("\t").map((cell) => cell.trim()),
  );

/** The cells of a table column, from top to bottom. */
export async function columnOf(page: Page, label: string) {
  const headings = (await page.getByRole("table").first().locator("thead th").allInnerTexts()).map((each) =>
    each.trim(),
  );
  const at = headings.indexOf(label);
  return (await linesOf(page)).map((line) => line[at]);
}

export const headingsOf = async (page: Page) =>
  (await page.getByRole("table").first().locator("thead .sort").allInnerTexts()).join(" ");

export const rowOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

/** The parameters in the address after its `#`. */
export const addressOf = (page: Page) =>
  Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));

/** Polls until `look` returns the expected value. */
export const expectSoon = <Value>(look: () => Promise<Value> | Value) => expect.poll(look, SHOWN);
