import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { startDemoGateway } from "../harness.ts";
import { PATIENT } from "../patience.ts";

const PLACES = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = PLACES.find((place) => place && existsSync(place));

if (!executablePath) {
  process.stderr.write(
    "\nNOT RUN: the test of the GraphiQL page, for want of a browser. Install chromium, or name one in CHROMIUM.\n\n",
  );
}

async function open(url: string): Promise<{ page: Page; elsewhere: string[] }> {
  const browser: Browser = await chromium.launch({
    executablePath: executablePath ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(PATIENT.timeout);
  // No internet: whatever does not come from the gateway does not come.
  const elsewhere: string[] = [];
  await page.route("**/*", (route) => {
    if (route.request().url().startsWith(new URL(url).origin)) return route.continue();
    if (!/^(blob|data):/.test(route.request().url())) elsewhere.push(route.request().url());
    return route.abort();
  });
  await page.goto(url);
  return { page, elsewhere };
}

test.runIf(executablePath)(
  "GraphiQL opens without internet, a tab runs on the demo, and no token is stored",
  async () => {
    const { url, calls, demo } = await startDemoGateway();
    const { page, elsewhere } = await open(`${url}/graphql`);

    const tab = page.getByRole("tab").filter({ hasText: "ExperimentPage" });
    await expect
      .poll(async () => {
        await tab.getByTitle("ExperimentPage").press("Enter");
        return tab.getAttribute("aria-selected");
      }, PATIENT)
      .toBe("true");
    await page.getByRole("button", { name: /execute query/i }).click();
    const answer = page.locator(".graphiql-response");
    await answer.getByText("ada.mnist.42").first().waitFor();

    expect(await answer.textContent()).not.toContain('"errors"');
    expect(calls().filter((call) => call.includes("experiments/42"))).toEqual([
      "GET ada/mnist/experiments/42/",
      "GET ada/mnist/experiments/42/statuses",
    ]);
    expect(elsewhere).toEqual([]);
    const stored = await page.evaluate(() =>
      JSON.stringify({ ...globalThis.localStorage, ...globalThis.sessionStorage }),
    );
    for (const { token } of demo.users) expect(stored).not.toContain(token);

    const directory = process.env["PICTURE"];
    if (directory) await page.screenshot({ path: `${directory}/graphiql.png` });
  },
);
