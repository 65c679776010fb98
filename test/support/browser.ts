import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import { LONG_TIMEOUT } from "./long-timeout.ts";

const PLACES = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = PLACES.find((place) => place && existsSync(place));

export const hasBrowser = executablePath !== undefined;

/** Reports that these tests are skipped when no browser is installed. */
export function reportMissingBrowser(what: string): void {
  if (hasBrowser) return;
  process.stderr.write(
    `\nNOT RUN: ${what}, for want of a browser. Install chromium, or name one in CHROMIUM.\n\n`,
  );
}

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  // No internet access: only the addresses of this machine resolve.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** Options for `expect.poll` on a page. Each attempt takes the browser as long as rendering a frame. */
export const SHOWN = { ...LONG_TIMEOUT, interval: 50 };

/**
 * Shares one browser between all tests of a file. Each test has its own context, without the cookies or storage of other tests. If the
 * browser has ended, it is started again.
 */
export function shareBrowser(): (options: BrowserContextOptions) => Promise<Page> {
  let browser: Browser | undefined;
  afterAll(() => browser?.close());
  return async (options) => {
    if (!browser?.isConnected())
      browser = await chromium.launch({ executablePath: executablePath ?? "", args: ARGUMENTS });
    const context = await browser.newContext({ reducedMotion: "reduce", ...options });
    onTestFinished(async () => {
      // Pending routes would otherwise respond to a page that is closing.
      for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    });
    const page = await context.newPage();
    page.setDefaultTimeout(LONG_TIMEOUT.timeout);
    return page;
  };
}
