import { fileURLToPath } from "node:url";
import { build } from "vite";
import { describe, expect, test } from "vitest";
import { hasBrowser, shareBrowser, SHOWN, reportMissingBrowser } from "../../support/browser.ts";
import { listen } from "../../support/listen.ts";
import { startTable, tableOf } from "./table.ts";

reportMissingBrowser("a table of runs in pieces, in a browser");

const openPage = shareBrowser();

/** Serves a page with the script of `page/table.ts`. Returns its origin. */
async function servePage(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      rollupOptions: { input: fileURLToPath(new URL("page/table.ts", import.meta.url)) },
    },
    define: { "process.env.NODE_ENV": '"production"', "globalThis.__DEV__": "false" },
  });
  const [file] = "output" in built ? built.output : [];
  const script = file?.code ?? "";
  return listen((request, response) => {
    const isScript = request.url === "/table.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : `<!doctype html><body><script type="module" src="/table.js"></script>`);
  });
}

describe.runIf(hasBrowser)("a browser", () => {
  test.each(["apollo", "urql"])("shows a table after one round of requests, with %s", async (client) => {
    const origin = await servePage();
    const { uri, headers, open, whole } = await startTable({ CORS_ORIGINS: origin });
    const { nodes } = (await whole()).project.experiments;
    const page = await openPage({});
    const token = headers.authorization.replace("token ", "");
    await page.goto(
      `${origin}/#${new URLSearchParams({ client, uri, token, query: tableOf("@defer", "") })}`,
    );
    const rows = page.locator("tr");
    await expect.poll(() => rows.count(), SHOWN).toBe(nodes.length);
    expect(await rows.locator("td:first-child").allTextContents()).toEqual(nodes.map(({ status }) => status));
    // The service has responded only to the list.
    expect((await rows.locator("td:last-child").allTextContents()).join("")).toBe("");
    open();
    const commits = nodes.map(({ buildJob }) => buildJob?.commit ?? "");
    await expect.poll(() => rows.locator("td:last-child").allTextContents(), SHOWN).toEqual(commits);
  });
});
