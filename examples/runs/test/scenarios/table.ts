import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { addressOf, columnOf, expectSoon, headingsOf, linesOf, openAt, rowOf } from "../page.ts";

const GROUP = "#list=ada.mnist.1";
const column = (page: Page, name: string) => page.getByRole("columnheader", { name, exact: true });

const LOSSES = `{ group(id: "ada.mnist.1") { experiments(first: 100) { nodes {
  parameter(name: "lr") { value } latestMetric(name: "loss") { value }
} } } }`;

type Value = { readonly value: number };
type Nodes = readonly { readonly parameter: Value; readonly latestMetric: Value | null }[];

/** Mean and deviation in the format of the page, calculated independently of it. */
function spreadOf(values: readonly number[]): string {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const deviation = Math.sqrt(
    values.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (values.length - 1),
  );
  return `${mean.toFixed(4)} ± ${deviation.toFixed(4)}`;
}

test.runIf(hasBrowser)("a group shows mean and deviation, and expands on a click", async () => {
  const { page, ask } = await openAt(GROUP);
  await page.getByLabel("Group by").selectOption("lr");
  const group = page.getByRole("button", { name: "0.026 5 runs · lr" });
  await group.waitFor();
  expect(await columnOf(page, "lr")).toEqual(["0.001", "0.026", "0.051", "0.076", "0.101"]);
  const { data } = await ask<{ group: { experiments: { nodes: Nodes } } }, object>(LOSSES);
  const losses = data.group.experiments.nodes.flatMap(({ parameter, latestMetric }) =>
    parameter.value === 0.026 && latestMetric ? latestMetric.value : [],
  );
  await rowOf(page, "0.026").getByText(spreadOf(losses)).waitFor();
  await rowOf(page, "0.026").getByText("2 values").waitFor();

  await group.click();
  expect((await linesOf(page)).length).toBe(5 + 5);
  await page.keyboard.press("Enter");
  await expectSoon(async () => (await linesOf(page)).length).toBe(5);
  await column(page, "loss").getByRole("link").click();
  await expectSoon(() => columnOf(page, "lr")).toEqual(["0.026", "0.051", "0.076", "0.101", "0.001"]);
});

test.runIf(hasBrowser).each([
  { by: "tags", first: "candidate, cnn" },
  { by: "user", first: "ada" },
  { by: "status", first: "failed" },
])("runs are grouped by $by", async ({ by, first }) => {
  const { page } = await openAt(`#list=ada.mnist&group=${by}`);
  await page.getByRole("button", { name: new RegExp(`^${first} \\d+ runs? · ${by}$`) }).click();
  await page
    .getByRole("link", { name: /^ada\.mnist\./ })
    .first()
    .waitFor();
  await page.getByLabel("then by").selectOption("activation");
  await page.getByRole("button", { name: /^relu .* activation$/ }).waitFor();
  expect(addressOf(page)["group"]).toBe(`${by},parameter.activation`);
});

test.runIf(hasBrowser)("columns are added, moved, pinned and removed", async () => {
  const { page } = await openAt(GROUP);
  await column(page, "lr").waitFor();
  expect(await headingsOf(page)).toBe("status activation dropout lr accuracy loss duration");
  await column(page, "loss").getByRole("link").dragTo(column(page, "activation"));
  await expectSoon(() => headingsOf(page)).toMatch(/^status loss activation /);

  await page.getByRole("button", { name: "Columns" }).click();
  const menu = page.getByRole("list", { name: "Columns" });
  for (const name of ["user", "started", "finished"]) await menu.getByLabel(name, { exact: true }).check();
  await menu.getByLabel("parameter dropout").uncheck();
  await menu.getByRole("button", { name: "Move lr to the left" }).press("Enter");
  await menu.getByRole("button", { name: "Pin accuracy" }).click();
  await page.keyboard.press("Escape");
  const expected = "accuracy status loss lr activation duration user started finished";
  await expectSoon(() => headingsOf(page)).toBe(expected);

  await column(page, "finished").scrollIntoViewIfNeeded();
  const { x = 0 } = (await column(page, "accuracy").boundingBox()) ?? {};
  const name = await page.getByRole("columnheader").first().boundingBox();
  expect(x).toBeCloseTo((name?.x ?? 0) + (name?.width ?? 0), 0);
  await page.reload();
  await expectSoon(() => headingsOf(page)).toBe(expected);

  // While a run is open, the sorted column is next to the names.
  await column(page, "duration").getByRole("link").click();
  await rowOf(page, "ada.mnist.1.28").click();
  await expectSoon(() => headingsOf(page)).toMatch(/^duration accuracy status/);
  await column(page, "finished").scrollIntoViewIfNeeded();
  expect((await column(page, "duration").boundingBox())?.x).toBeCloseTo(x, 0);
  expect((await column(page, "accuracy").boundingBox())?.x).toBeLessThan(x);
});

test.runIf(hasBrowser)("a saved view is restored by its name or by its address", async () => {
  const { page, address } = await openAt(`${GROUP}&sort=metric.loss&group=parameter.lr`);
  const views = () => page.getByRole("button", { name: /^View/ }).click();
  await views();
  await page.getByLabel("Name of this view").fill("by rate");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "View: by rate" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("Group by").selectOption("nothing");
  await page.getByRole("button", { name: "View: by rate (changed)" }).waitFor();
  await page.goto(`${address}${GROUP}`);
  await page.reload();
  await views();
  await page.getByRole("list", { name: "Views" }).getByRole("link", { name: "by rate" }).click();
  await page.getByRole("button", { name: /^0.026 .* lr$/ }).waitFor();
  expect(addressOf(page)).toEqual({
    list: "ada.mnist.1",
    sort: "metric.loss",
    group: "parameter.lr",
    view: "by rate",
  });

  // Another browser has no saved names, but the address contains the whole view.
  await page.evaluate("localStorage.clear()");
  await page.reload();
  await page.getByRole("button", { name: "View: by rate", exact: true }).waitFor();
  await page.getByRole("button", { name: /^0.026 .* lr$/ }).waitFor();
});

/** Answers reads of the list with `total` runs, which are copies of the first run of the gateway. */
const multiply = (page: Page, total: number) =>
  page.route("**/graphql", async (route) => {
    const { operationName, variables } = route.request().postDataJSON();
    if (operationName !== "Runs") return route.fallback();
    const response = await route.fetch({
      postData: { ...route.request().postDataJSON(), variables: { ...variables, first: 1, after: null } },
    });
    const body = await response.json();
    const { experiments } = body.data.project;
    const from = Number(variables.after ?? 0);
    const to = Math.min(total, from + variables.first);
    const [run] = experiments.nodes;
    experiments.nodes = Array.from({ length: to - from }, (_, at) => {
      const number = total - from - at;
      return {
        ...run,
        id: `run ${number}`,
        uniqueName: `ada.mnist.1.${number}`,
        description: `seed ${number % 3}`,
      };
    });
    experiments.totalCount = total;
    experiments.pageInfo = { ...experiments.pageInfo, hasNextPage: to < total, endCursor: String(to) };
    return route.fulfill({ json: body });
  });

test.runIf(hasBrowser).each([1_000, 10_000])(
  "only the visible rows of %i runs are rendered",
  async (total) => {
    const { page, sent } = await openAt("", {});
    await multiply(page, total);
    await page.evaluate(`location.hash = "${GROUP}"`);
    const words = total.toLocaleString("en");
    await page.getByText(`100 of ${words} runs are loaded.`).waitFor();
    expect((await linesOf(page)).length).toBeLessThan(50);
    const scroll = page.locator(".table");
    await scroll.hover();
    for (const loaded of [200, 300]) {
      await scroll.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
      await page.getByText(`${loaded} of ${words} runs are loaded.`).waitFor();
    }
    sent();
    // Grouping needs all runs.
    await page.getByLabel("Group by").selectOption("description");
    await page.getByText(`${words} runs.`, { exact: true }).waitFor();
    expect(sent().length).toBeLessThan(25);
    await page.getByRole("button", { name: /^seed 0 .* description$/ }).click();
    await scroll.evaluate((element) => element.scrollTo({ top: 6_000 }));
    await expectSoon(async () => (await linesOf(page))[9]?.[0]).toMatch(/^ada\.mnist\.1\.\d+$/);
    expect((await linesOf(page)).length).toBeLessThan(50);
  },
);

test.runIf(hasBrowser)(
  "repeated clicks sort a column both ways, then restore the default order",
  async () => {
    const { page } = await openAt(GROUP);
    for (const [label, first] of [
      ["loss", "ascending"],
      ["accuracy", "descending"],
      ["lr", "ascending"],
      ["duration", "ascending"],
    ] as const) {
      const heading = column(page, label);
      const orders =
        first === "ascending" ? ["ascending", "descending", null] : ["descending", "ascending", null];
      for (const order of orders) {
        await heading.getByRole("link").click();
        await expectSoon(() => heading.getAttribute("aria-sort")).toBe(order);
        await expectSoon(() => page.getByRole("table").getAttribute("aria-busy")).toBe("false");
        const values = (await columnOf(page, label))
          .filter((value) => value !== "–")
          .map((value) => inNumber(value ?? ""));
        const sorted = values.toSorted((a, b) => (order === "descending" ? b - a : a - b));
        expect(values).toEqual(order ? sorted : values);
      }
    }
  },
);

/** Parses a number, or a duration such as `1:02:03` into seconds. */
const inNumber = (text: string) => text.split(":").reduce((sum, part) => 60 * sum + Number(part), 0);

test.runIf(hasBrowser)("an export contains only the filtered runs", async () => {
  const { page } = await openAt(`${GROUP}&filter=status:failed`);
  await page.getByText("3 runs.", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Export" }).click();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Runs as CSV" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe("ada.mnist.1.runs.csv");
  const text = await new Response((await saved.createReadStream()) as never).text();
  expect(text.match(/ada\.mnist\.1\.\d+/g)?.toSorted()).toEqual(
    expect.arrayContaining(["ada.mnist.1.12", "ada.mnist.1.20", "ada.mnist.1.27"]),
  );
  expect(text.trim().split("\r\n")).toHaveLength(4);
});
