import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, reportMissingBrowser, SHOWN } from "../support/browser.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { answerOf, click, NARROW, run, shareGraphiql, shownIn, WIDE } from "./graphiql.ts";

reportMissingBrowser("the tests of tables in the GraphiQL page");

const open = shareGraphiql();

const QUERY = `query Rows {
  project(id: "ada.mnist") { experiments {
    totalCount
    nodes { uniqueName tags latestMetric(name: "loss") { value } experimentGroup { uniqueName } latestMetrics { name } metrics: latestMetrics { name value } }
  } }
  viewer { username }
}`;

const row = (id: number, loss: number | null) => ({
  id,
  unique_name: `ada.mnist.${id}`,
  tags: id === 2 ? ["a", "b"] : [],
  experiment_group: id === 2 ? null : "ada.mnist.1",
  last_metric: loss === null ? {} : { acc: 0.75, loss },
});
const ROWS = [row(1, 0.5), row(2, null), row(10, 0.25)];

/** Opens the page and shows the result of the query. */
async function openRows(viewport = WIDE) {
  const service = await startFake((seen) =>
    seen.path.includes("experiments") ? pageOf(ROWS, seen) : { json: { username: "ada" } },
  );
  const gateway = await startGateway({ upstream: service, exampleToken: "t0ken", env: RELEASE_04 });
  const link = `${gateway.url}/graphql#${new URLSearchParams({ query: QUERY })}`;
  const opened = await open(link, viewport, "Rows", { bypassCSP: true });
  await run(opened.page);
  await expect.poll(() => shownIn(opened.page), SHOWN).toContain("ada.mnist.10");
  return opened;
}

const linesOf = async (page: Page) => {
  const lines = page.locator(".answer-table tr");
  return Promise.all((await lines.all()).map((line) => line.locator("th, td").allTextContents()));
};

const COLUMNS = [
  "uniqueName",
  "tags",
  "latestMetric.value",
  "experimentGroup.uniqueName",
  "latestMetrics",
  "metrics",
];
// Names with values are shown, lists of other objects by their length.
const [FIRST, SECOND, TENTH] = [
  ["ada.mnist.1", "", "0.5", "ada.mnist.1", "2 rows", "acc=0.75, loss=0.5"],
  ["ada.mnist.2", "a, b", "", "", "", ""],
  ["ada.mnist.10", "", "0.25", "ada.mnist.1", "2 rows", "acc=0.75, loss=0.25"],
];

describe.runIf(hasBrowser)("GraphiQL", () => {
  test.each([WIDE, NARROW])("shows a list in a response as a sortable table: %o", async (viewport) => {
    const { page, complaints } = await openRows(viewport);
    const button = page.getByRole("button", { name: "Table", exact: true });
    await click(page, button);
    const order = async () => (await linesOf(page)).slice(1).map(([name]) => name);
    const table = await linesOf(page);
    // A null object has no fields: its columns come from other rows, and its cells are empty.
    expect(table).toEqual([COLUMNS, FIRST, SECOND, TENTH]);
    const by = (name: string) =>
      page.locator(".answer-table th").filter({ hasText: name }).getByRole("button");
    await click(page, by("latestMetric.value"));
    expect(await order()).toEqual(["ada.mnist.10", "ada.mnist.1", "ada.mnist.2"]);
    await page.keyboard.press("Enter");
    expect(await order()).toEqual(["ada.mnist.1", "ada.mnist.10", "ada.mnist.2"]);
    expect(await page.locator("[aria-sort=descending]").allTextContents()).toEqual(["latestMetric.value"]);
    await click(page, by("uniqueName").first());
    expect(await order()).toEqual(["ada.mnist.1", "ada.mnist.2", "ada.mnist.10"]);

    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<AxeResults>(`axe.run(".graphiql-response")`);
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    await click(page, button);
    await answerOf(page).getByText('"project"').waitFor();
    expect(await page.locator(".answer-table").isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  test("shows no table for a response without a list", async () => {
    const { page } = await openRows();
    const button = page.getByRole("button", { name: "Table", exact: true });
    await click(page, button);
    await page.evaluate(
      `monaco.editor.getModels().find(({ uri }) => uri.path.endsWith("operation.graphql")).setValue("query Who { viewer { username } }")`,
    );
    await run(page);
    await answerOf(page).getByText('"username"').waitFor();
    expect(await button.isVisible()).toBe(false);
    expect(await page.locator(".answer-table").isVisible()).toBe(false);
  });
});
