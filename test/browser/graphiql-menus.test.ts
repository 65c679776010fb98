import { execFile } from "node:child_process";
import { promisify } from "node:util";
import axe, { type AxeResults } from "axe-core";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, SHOWN, reportMissingBrowser } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { findPython } from "../support/python.ts";
import {
  answerOf,
  choose,
  click,
  isOnScreen,
  menuOf,
  NARROW,
  openOperation,
  reload,
  run,
  shownIn,
  tabOf,
  WIDE,
  shareGraphiql,
} from "./graphiql.ts";

reportMissingBrowser("the tests of the menus of the GraphiQL page");

const open = shareGraphiql();

/** The violations that axe finds in the current page, by all rules or only by the rule about colour contrast. */
async function issuesOf(page: Page, isOfColours = false) {
  await page.evaluate(axe.source);
  const rules = isOfColours ? `document, { runOnly: ["color-contrast"] }` : "";
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${rules})`);
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

describe.runIf(hasBrowser)("GraphiQL", () => {
  test("finds operations by words, and keeps tabs' variables across a reload", async () => {
    const { url } = await startDemoGateway();
    const { page } = await open(url);
    const menu = menuOf(page, "Operations");
    await click(page, menu.locator("summary"));
    expect(await menu.getByRole("heading").allTextContents()).toEqual(["Read", "Watch", "Change"]);
    await menu.getByRole("searchbox").fill("log pieces");
    expect(await menu.locator("li strong").allTextContents()).toEqual(["LiveLog"]);
    for (const words of ["start", "create", "create experiment", "new run"]) {
      await menu.getByRole("searchbox").fill(words);
      expect(await menu.locator("li strong").allTextContents()).toContain("StartRun");
    }
    for (const [words, name] of [
      ["cancel", "StopRuns"],
      ["which gpu is free", "MachineLoad"],
      ["crash", "WhyFailed"],
    ] as const) {
      await menu.getByRole("searchbox").fill(words);
      expect(await menu.locator("li strong").allTextContents()).toContain(name);
    }
    // Descriptions are cut after two lines.
    const heightOf = async (span: Locator) => (await span.boundingBox())?.height ?? 0;
    const heights = await Promise.all((await menu.locator("li span").all()).map(heightOf));
    expect(Math.max(...heights)).toBeGreaterThan(30);
    expect(Math.max(...heights)).toBeLessThan(50);
    await menu.getByRole("searchbox").fill("xyzzy");
    await menu.getByText("No operation has these words.").waitFor();
    await page.keyboard.press("Escape");
    expect(await menu.getAttribute("open")).toBe(null);
    await page.keyboard.press("Enter");
    await menu.getByRole("searchbox").fill("Why did this run fail");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "Enter"])
      await page.keyboard.press(key);
    await tabOf(page, "WhyFailed").waitFor();
    await page.keyboard.press("Control+Enter");
    await answerOf(page).getByText('"ada.mnist.1.27"').waitFor();

    const opened =
      "WhyFailed LiveLog StartPage GroupGraph Restart ClusterPage RunLog Origin BestExperiments".split(" ");
    for (const name of opened) await openOperation(page, name);
    const names = ["Welcome", ...opened];
    expect(await page.getByRole("tab").allTextContents()).toEqual(names);
    await expect.poll(() => isOnScreen(tabOf(page, "BestExperiments"), WIDE), SHOWN).toBe(true);
    for (const name of ["Restart", "Welcome"]) await choose(page, name);
    const added = page.locator(".graphiql-tab-active");
    for (let count = names.length + 1; count <= names.length + 3; count += 1) {
      await click(page, page.locator(".graphiql-tab-add"));
      await expect.poll(() => page.getByRole("tab").count(), SHOWN).toBe(count);
      await expect.poll(() => isOnScreen(added, WIDE), SHOWN).toBe(true);
    }
    for (let count = names.length + 2; count >= names.length; count -= 1) {
      await added.getByRole("tab").focus();
      await page.keyboard.press("Delete");
      await expect.poll(() => page.getByRole("tab").count(), SHOWN).toBe(count);
    }
    await choose(page, "GroupGraph");
    await reload(page, "GroupGraph");
    // An operation that is already open in a tab is shown there.
    await openOperation(page, "Origin");
    await openOperation(page, "GroupGraph");
    expect(await page.getByRole("tab").allTextContents()).toEqual(names);
    await run(page);
    await answerOf(page).getByText("ada.mnist.1").first().waitFor();
  });

  test("requests confirmation of destructive or administrative mutations, and sends nothing when declined", async () => {
    const service = await startFake(() => ({ text: "", status: 204 }));
    const { url } = await startGateway({ upstream: service, exampleToken: "t0ken" });
    const { page } = await open(
      `${url}/graphql#${new URLSearchParams({
        query: "mutation Leave($id: ID!) { deleteExperiment(id: $id) { deletedId } }",
        variables: '{"id": "ada.mnist.42"}',
      })}`,
      WIDE,
      "Leave",
    );
    const question = page.getByRole("dialog", { name: "Run this?" });
    const sent = () => service.calls().filter((call) => call.startsWith("DELETE"));
    await run(page);
    await question.getByText("Deletes an experiment. This cannot be undone.").waitFor();
    expect(await question.locator("pre").textContent()).toContain('"id": "ada.mnist.42"');
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /execute query/i }).waitFor();
    expect((await shownIn(page)).trim()).toBe("");
    expect(sent()).toEqual([]);
    await run(page);
    await click(page, question.getByRole("button", { name: "Run it" }));
    await answerOf(page).getByText("deletedId").first().waitFor();
    expect(sent()).toHaveLength(1);
  });

  test("shares an operation as a link or code, without a token", async () => {
    const { url, demo } = await startDemoGateway();
    const { page } = await open(url);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await openOperation(page, "ExperimentPage");
    const menu = menuOf(page, "Share");
    const copied = async (label: string) => {
      if ((await menu.getAttribute("open")) === null) await click(page, menu.locator("summary"));
      await page.evaluate(`navigator.clipboard.writeText("")`);
      await click(page, menu.getByRole("button", { name: label }));
      await menu.getByText(/^Copied/).waitFor();
      // The clipboard is polled, because the message may belong to an earlier copy.
      const read = () => page.evaluate<string>(`navigator.clipboard.readText()`);
      await expect.poll(read, SHOWN).not.toBe("");
      return read();
    };
    const python = findPython("json");
    const execute = async (program: string, text: string) => {
      const { stdout } = await promisify(execFile)(program, [program === "node" ? "-e" : "-c", text], {
        env: { PATH: process.env["PATH"], RUNGRAPH_TOKEN: demo.users[0]?.token },
      });
      return stdout;
    };
    /** The output of the copied programs, each run exactly as copied. */
    const printed = async () => [
      await execute("sh", await copied("Copy as cURL")),
      // On the command line, Node.js accepts code with `await` only as a module.
      await execute("node", `(async () => { ${await copied("Copy as JavaScript")} })()`),
      ...(python ? [await execute(python, await copied("Copy as Python"))] : []),
    ];
    for (const text of await printed()) expect(text).toMatch(/ada\.mnist\.42/);
    const link = await copied("Copy link");
    for (const { token } of demo.users) expect(link).not.toContain(token);

    const several = `query One { viewer { username } }
query Two { experiment(id: "ada.mnist.42") { it: uniqueName } }`;
    const stream = `subscription Watch { experimentMetricRecorded(id: "ada.mnist.1.10") { id } }`;
    for (const [query, expected] of [
      [several, /username/],
      [stream, /event: complete/],
    ] as const) {
      await page.goto(`${url}/graphql#${new URLSearchParams({ query })}`);
      await tabOf(page, query === several ? "One" : "Watch").waitFor();
      for (const text of await printed()) expect(text).toMatch(expected);
    }
    await page.goto(`${url}/graphql#${new URLSearchParams({ query: several, variables: "{ no" })}`);
    await expect
      .poll(() => page.locator(".graphiql-editor-tool").first().textContent(), SHOWN)
      .toContain("no");
    await click(page, menu.getByRole("button", { name: "Copy as cURL" }));
    await menu.getByText("The variables are no JSON.").waitFor();

    const other = await open(link, WIDE, "ExperimentPage");
    await run(other.page);
    await answerOf(other.page).getByText("ada.mnist.42").first().waitFor();
    expect(other.page.url()).toBe(`${url}/graphql`);
  });

  test.each([
    ["", WIDE],
    ["logs { endCursor }", NARROW],
  ])("groups many requests by route, with keyboard navigation: %s %o", async (more, viewport) => {
    const { url } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const query = `query Many { group(id: "ada.mnist.1") { status experiments(first: 50) { nodes {
      buildJob { commit } statuses { nodes { status } } ${more}
      jobs { nodes { uniqueName statuses { nodes { status } } } }
    } } } }`;
    const { page } = await open(`${url}/graphql#${new URLSearchParams({ query })}`, viewport, "Many", {
      bypassCSP: true,
    });
    await run(page);
    const panel = page.getByRole("region", { name: "Upstream requests" });
    await panel.getByText(/^\d\d+ requests/).waitFor();
    const rows = panel.getByRole("treeitem");
    expect(await rows.count()).toBeLessThan(10);
    const jobs = rows.filter({ hasText: /^\d\d × experiments.{id}.jobs/ });
    await click(page, jobs);
    await expect.poll(() => rows.count(), SHOWN).toBeGreaterThan(24);
    for (let row = 0; row < 24; row += 1) await page.keyboard.press("ArrowDown");
    await page
      .getByRole("tooltip")
      .getByText(/experiments.{id}.jobs/)
      .waitFor();
    expect(await panel.locator("li[tabindex='0']").count()).toBe(1);
    for (const part of [panel, page.locator("li:focus"), page.locator(".graphiql-editor-tool").first()])
      await expect.poll(() => isOnScreen(part, viewport), SHOWN).toBe(true);
    expect(await issuesOf(page)).toEqual([]);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => rows.count(), SHOWN).toBeLessThan(10);
    expect((await page.locator("header").boundingBox())?.y).toBe(0);
  });

  test.each(["light", "dark"] as const)("has no axe violations in %s mode", async (colorScheme) => {
    const { url } = await startDemoGateway();
    const { page } = await open(url, WIDE, "Welcome", { colorScheme: "light", bypassCSP: true });
    await run(page);
    await answerOf(page).getByText('"ada.mnist.42"').first().waitFor();
    // The system switches its colour scheme while the page is open.
    await page.emulateMedia({ colorScheme });
    const problems = () => issuesOf(page, colorScheme === "dark");
    await expect.poll(problems, SHOWN).toEqual([]);
    for (const name of ["Operations", "Share", "Signed in as ada"]) {
      await click(page, menuOf(page, name).locator("summary"));
      expect(await problems()).toEqual([]);
      await page.keyboard.press("Escape");
    }
    for (const name of ["Documentation Explorer", "GraphiQL Explorer"]) {
      await click(page, page.getByRole("button", { name: `Show ${name}` }));
      await page.locator(".graphiql-plugin :is(a, input)").first().waitFor();
      expect(await problems()).toEqual([]);
    }
    await click(page, page.getByRole("button", { name: "Hide GraphiQL Explorer" }));
    for (const name of ["Open short keys dialog", "Open settings dialog"]) {
      await click(page, page.getByRole("button", { name }));
      await page.getByRole("dialog").waitFor();
      expect(await problems()).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await openOperation(page, "StartPage");
    expect(await problems()).toEqual([]);
  });
});
