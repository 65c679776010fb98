import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { latch } from "../../../../test/support/latch.ts";
import { faultsOf, looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { chooseStatus, focusIn } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

/** What the page should show, asked for without it. */
const EXPECTED = `{ group(id: "ada.mnist.1") { experiments(
  first: 12, order: { by: { field: FINISHED_AT }, direction: ASC }
  filter: {
    statuses: [SUCCEEDED, FAILED], metrics: [{ name: "loss", lessThan: 0.2 }]
    parameters: [{ name: "activation", values: ["relu"] }]
  }
) { nodes { uniqueName } } } }`;

interface Found {
  readonly group: { readonly experiments: { readonly nodes: readonly { readonly uniqueName: string }[] } };
}

interface Parameter {
  readonly name: string;
  readonly value: unknown;
}

const objectOf = (parameters: readonly Parameter[]) =>
  Object.fromEntries(parameters.map(({ name, value }) => [name, value]));

const linksIn = (page: Page) =>
  page
    .getByRole("table")
    .getByRole("rowheader")
    .getByRole("link")
    .evaluateAll<string[], HTMLElement>((links) =>
      links.map((link) => link.getAttribute("aria-label") ?? ""),
    );

test.skipIf(!hasBrowser)("a reload keeps the session, plus filters and order from the address", async () => {
  const { page, ask, complaints } = await openAt(GROUP);
  const filter = page.getByRole("form", { name: "Filter" });
  await filter.getByLabel("Parameter").fill("activation=relu");
  for (const name of ["succeeded", "failed"]) await chooseStatus(page, name);
  await expect.poll(() => page.url(), SHOWN).toContain("status=SUCCEEDED%2CFAILED");
  const menu = page.locator(".statuses");
  const isOpen = async () => (await menu.getAttribute("open")) !== null;
  await page.keyboard.press("Escape");
  await expect
    .poll(async () => [await isOpen(), await focusIn(page)], SHOWN)
    .toEqual([false, "Status succeeded, failed"]);
  await page.keyboard.press("Enter");
  await expect.poll(isOpen, SHOWN).toBe(true);
  await page.getByRole("heading", { name: "ada.mnist.1" }).click();
  await expect.poll(isOpen, SHOWN).toBe(false);
  // The arrow keys only go through the orders: nothing is sent, and nothing that is typed is lost.
  await filter.getByLabel("Order").press("ArrowDown");
  expect(await filter.getByLabel("Order").inputValue()).toBe("CREATED_ASC");
  expect([await focusIn(page), new URL(page.url()).hash]).toEqual([
    "sort",
    `${GROUP}&status=SUCCEEDED%2CFAILED`,
  ]);
  await filter.getByLabel("Metric").fill("loss<0.2");
  await filter.getByLabel("Order").selectOption("FINISHED_ASC");
  await expect.poll(() => page.url(), SHOWN).toContain("bound=loss");
  const { data } = await ask<Found, object>(EXPECTED);
  const expected = data.group.experiments.nodes.map(({ uniqueName }) => uniqueName);
  const words = `First finished first. ${expected.length} runs.`;
  await page.getByText(words).waitFor();
  expect(await linksIn(page)).toEqual(expected);

  await page.reload();
  await page.getByText(words).waitFor();
  await filter.getByText("succeeded, failed").waitFor();
  await filter.getByRole("link", { name: "All runs" }).click();
  await page.getByText("12 of 24 runs are loaded.").waitFor();

  await filter.getByLabel("Words").fill("NoSuch word");
  await page.keyboard.press("Enter");
  await page.getByText("No run matches NoSuch word.").waitFor();
  expect(await focusIn(page)).toBe("words");
  expect(page.url()).toContain("words=NoSuch+word");
  await filter.getByRole("link", { name: "All runs" }).click();
  await page.getByText("12 of 24 runs are loaded.").waitFor();
  await filter.getByLabel("Tag").fill("nosuch");
  await filter.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No run matches nosuch.").waitFor();
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("columns can be chosen, and a metric also sorts worst first", async () => {
  const { page, complaints } = await openAt(`${GROUP}&sort=loss`);
  const header = (name: string) => page.getByRole("columnheader", { name, exact: true });
  await header("dropout").waitFor();
  await page.getByText("Columns", { exact: true }).click();
  await page.getByLabel("dropout").click();
  await expect.poll(() => header("dropout").count(), SHOWN).toBe(0);
  expect(page.url()).toContain("hide=dropout");
  const byLoss = page.getByRole("columnheader", { name: /^loss/ });
  await byLoss.getByRole("link").click();
  await page.getByText("Sorted by loss, worst first.").waitFor();
  expect(await byLoss.getAttribute("aria-sort")).toBe("descending");
  await byLoss.getByRole("link").click();
  await expect.poll(() => byLoss.getAttribute("aria-sort"), SHOWN).toBe(null);
  // Until what is chosen is there, the runs of before are told to be so.
  const isBusy = () => page.getByRole("table").getAttribute("aria-busy");
  for (const [choose, shown] of [
    [() => header("lr").getByRole("link").click(), page.getByText("24 runs.")],
    [() => page.getByLabel("best").click(), page.getByRole("cell", { name: "0.0950" })],
    [() => page.getByLabel("Order").selectOption("FINISHED_ASC"), page.getByText("First finished first.")],
  ] as const) {
    const { opened, open: answer } = latch();
    await page.route("**/graphql", async (route) => {
      if (route.request().postDataJSON().operationName === "Group") await opened;
      return route.fallback();
    });
    await choose();
    await page.getByText("These are the runs from before.").waitFor();
    expect(await isBusy()).toBe("true");
    expect(await faultsOf(page)).toEqual([]);
    answer();
    await shown.first().waitFor();
    await expect.poll(isBusy, SHOWN).toBe("false");
    await page.unroute("**/graphql");
  }
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)(
  "selected runs can be compared, tagged, bookmarked, and stopped after confirmation",
  async () => {
    const { page, calls, complaints, demo } = await openAt(`${GROUP}&status=RUNNING`);
    const chosen = page.getByRole("region", { name: "Selected runs" });
    const focusAndBookmarks = async () => [
      await focusIn(page),
      await page.getByRole("img", { name: "bookmarked" }).count(),
    ];
    for (const name of ["ada.mnist.1.43", "ada.mnist.1.44"]) await page.getByLabel(`Select ${name}`).check();
    await chosen.getByText("2 runs selected").waitFor();
    expect(await chosen.getByRole("link", { name: "Compare" }).getAttribute("href")).toContain(
      "compare=ada.mnist.1.44%2Cada.mnist.1.43",
    );
    calls();
    await chosen.getByRole("button", { name: "Bookmark" }).click();
    await chosen.getByText("Bookmarked 2 runs.").waitFor();
    await expect.poll(focusAndBookmarks, SHOWN).toEqual(["Bookmark", 2]);
    await chosen.getByRole("button", { name: "Undo" }).click();
    await chosen.getByText("Removed the bookmarks of 2 runs.").waitFor();
    await expect.poll(focusAndBookmarks, SHOWN).toEqual(["Clear", 0]);
    await chosen.getByLabel("Tags").fill("kept, later");
    await chosen.getByRole("button", { name: "Tag", exact: true }).click();
    await chosen.getByText("Tagged 2 runs.").waitFor();
    await chosen.getByLabel("Tags").fill("later");
    await chosen.getByRole("button", { name: "Untag" }).click();
    await chosen.getByText("Untagged 2 runs.").waitFor();
    await page.getByRole("cell", { name: "kept", exact: true }).first().waitFor();
    await chosen.getByRole("button", { name: "Stop" }).click();
    expect(demo.calls().filter((call) => call.endsWith("/stop"))).toEqual([]);
    await page.getByRole("button", { name: "Stop them" }).click();
    await expect
      .poll(() => demo.calls().filter((call) => call.endsWith("/stop")), SHOWN)
      .toEqual(["POST /api/v1/ada/mnist/experiments/stop"]);
    const writes = calls().filter((call) => /^(?:POST|PATCH|DELETE)/.test(call));
    expect(writes.filter((call) => !call.endsWith("/stop"))).toEqual([
      "DELETE ada/mnist/experiments/43/unbookmark/",
      "DELETE ada/mnist/experiments/44/unbookmark/",
      "PATCH ada/mnist/experiments/43/",
      "PATCH ada/mnist/experiments/43/",
      "PATCH ada/mnist/experiments/44/",
      "PATCH ada/mnist/experiments/44/",
      "POST ada/mnist/experiments/43/bookmark/",
      "POST ada/mnist/experiments/44/bookmark/",
    ]);
    expect(complaints).toEqual([]);
  },
);

test.skipIf(!hasBrowser)("the shown runs are exported as a table", async () => {
  const { page, complaints } = await openAt(`${GROUP}&status=FAILED`);
  await page.getByText("3 runs.").waitFor();
  await page.getByText("Export").click();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Runs as CSV" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe("ada.mnist.1.runs.csv");
  const [header, ...lines] = readFileSync(await saved.path(), "utf8")
    .trim()
    .split("\r\n");
  expect(header).toContain("uniqueName");
  expect(lines.map((line) => /ada\.mnist\.1\.\d+/.exec(line)?.[0]).toSorted()).toEqual(
    ["12", "20", "27"].map((id) => `ada.mnist.1.${id}`),
  );
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("a filtered table selection renders well in every size and mode", async () => {
  const opened = await openAt(`${GROUP}&status=SUCCEEDED&sort=loss`);
  await opened.page.getByLabel("Select all loaded runs").check();
  await opened.page.getByRole("region", { name: "Selected runs" }).waitFor();
  await opened.page.getByText("Columns", { exact: true }).click();
  await looksWell(opened, "table");
  expect(opened.complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("notes and tags are edited in place; a restart changes a parameter", async () => {
  const { page, calls, complaints, ask } = await openAt("#run=ada.mnist.1.10");
  const notes = page.getByRole("region", { name: "Notes" });
  await notes.getByRole("button", { name: "Edit" }).click();
  await notes.getByLabel("Description").fill("the best so far");
  await notes.getByRole("button", { name: "Save" }).click();
  await notes.getByText("the best so far").waitFor();
  await notes.getByRole("button", { name: "Edit" }).and(page.locator(":focus")).waitFor();
  await notes.getByLabel("New tag").fill("kept");
  await notes.getByRole("button", { name: "Add" }).click();
  await notes.getByRole("button", { name: "Remove kept" }).waitFor();
  await notes.getByLabel("New tag").fill("one, two");
  await page.keyboard.press("Enter");
  for (const tag of ["one", "two"]) await notes.getByRole("button", { name: `Remove ${tag}` }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await notes.getByRole("button", { name: "Remove kept" }).click();
  await expect.poll(() => notes.getByRole("button", { name: "Remove kept" }).count(), SHOWN).toBe(0);

  calls();
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("dialog").getByLabel("dropout").fill("0.4");
  expect(calls().filter((call) => call.startsWith("POST"))).toEqual([]);
  await page.getByRole("button", { name: "Start it" }).click();
  const started = await page.getByText("Started").getByRole("link").innerText();
  // Nothing was sent before that was pressed.
  expect(calls().filter((call) => call.startsWith("POST"))).toHaveLength(1);
  const { data } = await ask<{ experiment: { parameters: readonly Parameter[] } }, object>(
    `query ($id: ID!) { experiment(id: $id) { parameters { name value } } }`,
    { id: started },
  );
  expect(objectOf(data.experiment.parameters)).toMatchObject({
    dropout: 0.4,
    lr: 0.026,
    activation: "relu",
  });
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)(
  "string parameters stay strings when a restart changes another parameter",
  async () => {
    const { page, ask, complaints } = await openAt("");
    const { data } = await ask<{ restartExperiment: { experiment: { uniqueName: string } } }, object>(
      `mutation { restartExperiment(id: "ada.mnist.1.10", input: {
      parameters: [{ name: "fold", value: "01" }, { name: "seed", value: "7" }, { name: "note", value: "" }]
    }) { experiment { uniqueName } } }`,
    );
    await page.goto(`${page.url()}#run=${data.restartExperiment.experiment.uniqueName}`);
    await page.getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").getByLabel("seed").fill("8");
    await page.getByRole("dialog").getByLabel("lr").fill("1e-2");
    await page.getByRole("button", { name: "Start it" }).click();
    const started = await page.getByText("Started").getByRole("link").innerText();
    const restarted = await ask<{ experiment: { parameters: readonly Parameter[] } }, object>(
      `query ($id: ID!) { experiment(id: $id) { parameters { name value } } }`,
      { id: started },
    );
    expect(objectOf(restarted.data.experiment.parameters)).toMatchObject({
      fold: "01",
      seed: "8",
      note: "",
      lr: 0.01,
    });
    expect(complaints).toEqual([]);
  },
);

test.skipIf(!hasBrowser)("the table shows tags and the date it is sorted by", async () => {
  const { page, complaints } = await openAt("#list=ada.mnist&tag=cnn, baseline");
  const header = (name: string) => page.getByRole("columnheader", { name, exact: true });
  await header("tags").waitFor();
  const line = page.getByRole("row", { name: "ada.mnist.42" });
  await line.getByText("cnn, candidate").waitFor();
  await page.getByText("Columns", { exact: true }).click();
  await page.getByLabel("tags").click();
  await header("tags").waitFor({ state: "detached" });
  for (const [order, word] of [
    ["CREATED_ASC", "created"],
    ["UPDATED_DESC", "last changed"],
    ["STARTED_DESC", "started"],
    ["FINISHED_ASC", "finished"],
  ] as const) {
    await page.getByLabel("Order").selectOption(order);
    await header(word).waitFor();
    await line.getByText(/^Feb 21, 2026/).waitFor();
    await expect
      .poll(() => header(word).getAttribute("aria-sort"), SHOWN)
      .toMatch(order.endsWith("ASC") ? /^a/ : /^d/);
  }
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("axis, smoothing and scale of one run's charts persist in the address", async () => {
  const opened = await openAt("#run=ada.mnist.1.10");
  const { page, complaints } = opened;
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await page.getByText("Axis, smoothing, scale and zoom").click();
  await page.getByRole("combobox", { name: "Over" }).selectOption("step");
  await page.getByRole("img", { name: "loss over steps" }).waitFor();
  await page.getByText("0.1055 at step 53").waitFor();
  await page.getByRole("slider", { name: "Smoothing" }).fill("0.6");
  await page.getByLabel("log scale").check();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await looksWell(opened, "run-tools");
  await page.getByRole("button", { name: "Reset zoom" }).click();

  await page.reload();
  await page.getByRole("img", { name: "loss over steps" }).waitFor();
  expect(page.url()).toMatch(/axis=step&smooth=0\.6&scale=log$/);
  await page.getByText("Axis, smoothing, scale and zoom").click();
  expect(await page.getByLabel("log scale").isChecked()).toBe(true);
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("a run's duration keeps counting while other runs are shown", async () => {
  const { page, complaints } = await openAt(GROUP);
  const filter = page.getByRole("form", { name: "Filter" });
  const running = page.getByRole("row").filter({ hasText: "ada.mnist.1.44" });
  const minutes = async () =>
    Number.parseInt((await running.getByText(/^\d+:\d\d$/).textContent()) ?? "", 10);
  const before = await minutes();
  await chooseStatus(page, "succeeded");
  await running.waitFor({ state: "detached" });
  // A new answer would tell the duration by the gateway's clock, which has not moved.
  await page.route("**/graphql**", () => undefined);
  // Five minutes later.
  await page.evaluate("Date.now = ((now) => () => now() + 300_000)(Date.now)");
  await filter.getByRole("link", { name: "All runs" }).click();
  await expect.poll(minutes, SHOWN).toBeGreaterThanOrEqual(before + 5);
  expect(complaints).toEqual([]);
});
