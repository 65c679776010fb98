import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { addressOf, expectSoon, linesOf, openAt } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

test.runIf(hasBrowser).each([
  { typed: "lo", name: "metric.loss", more: "<0.106", runs: "1 run." },
  { typed: "drop", name: "parameter.dropout", more: "=0.3", runs: "9 runs." },
  { typed: "us", name: "user:", more: "a", last: "user:ada", runs: "24 runs." },
  { typed: "status:fa", name: "status:failed", more: "", runs: "3 runs." },
  { typed: "activation=s", name: "activation=sigmoid", more: "", runs: "9 runs." },
])("the filter completes $typed to $name", async ({ typed, name, more, last, runs }) => {
  const { page } = await openAt("#list=ada.mnist.1");
  const line = page.getByRole("combobox", { name: "Filter" });
  await line.click();
  await line.pressSequentially(typed);
  await page.getByRole("option", { name, exact: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expectSoon(() => line.inputValue()).toBe(name);
  await line.pressSequentially(more);
  if (last) await page.getByRole("option", { name: last }).click();
  await page.keyboard.press("Escape");
  await expectSoon(() => line.inputValue()).toBe(last ?? name + more);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByText(runs, { exact: true }).first().waitFor();
  expect(addressOf(page)["filter"]).toBe(last ?? name + more);
});

test.runIf(hasBrowser)("the filter suggests the tags of the list", async () => {
  const { page } = await openAt("#list=ada.mnist");
  const line = page.getByRole("combobox", { name: "Filter" });
  await line.fill("tag:cn");
  await page.getByRole("option", { name: "tag:cnn" }).click();
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByText(/^[2-9] runs\.$/).waitFor();
  expect(addressOf(page)["filter"]).toBe("tag:cnn");
});

test.runIf(hasBrowser).each([
  { line: "metric.los<0.3", says: "No such metric: los. Metrics: accuracy, loss." },
  { line: "parameter.l=1", says: "No such parameter: l. Parameters: activation, dropout, lr." },
  {
    line: "rate>=0.1",
    says: "No such metric or parameter: rate. Metrics: accuracy, loss. Parameters: activation, dropout, lr.",
  },
  { line: "status:broken", says: "No such status: broken. Statuses: running, succeeded," },
  { line: "lr>=fast", says: "lr>=fast: expected a number after >=, got fast." },
])("the filter $line is rejected immediately with the reason", async ({ line, says }) => {
  const { page, sent } = await openAt(GROUP);
  await page.getByText("24 runs.").waitFor();
  sent();
  const input = page.getByRole("combobox", { name: "Filter" });
  await input.fill(line);
  await page.getByRole("alert").getByText(says).waitFor();
  await page.keyboard.press("Escape");
  await input.press("Enter");
  expect([addressOf(page)["filter"], sent().filter((name) => name !== "Names")]).toEqual([undefined, []]);

  await page.evaluate((hash) => location.assign(hash), `${GROUP}&filter=${encodeURIComponent(line)}`);
  await page.getByRole("alert").getByText(`${says}`).waitFor();
  await page.getByText("The filter ignores this.").waitFor();
  await page.getByText("24 runs.").waitFor();
});

const EXPECTED = `{ group(id: "ada.mnist.1") { experiments(first: 100, filter: {
  parameters: [{ name: "lr", atLeast: 0.02 }, { name: "dropout", values: ["0.3"] }]
  metrics: [{ name: "loss", lessThan: 0.3 }, { name: "accuracy", greaterThan: 0.94 }]
}) { nodes { uniqueName } } } }`;

test.runIf(hasBrowser)("a filter requires all its conditions, even after a reload", async () => {
  const { page, ask } = await openAt(GROUP);
  const line = page.getByRole("combobox", { name: "Filter" });
  await line.fill("lr>=0.02 parameter.dropout=0.3 loss<.3 accuracy>9.4e-1");
  await page.keyboard.press("Enter");
  const { data } = await ask<{ group: { experiments: { nodes: { uniqueName: string }[] } } }, object>(
    EXPECTED,
  );
  const names = data.group.experiments.nodes.map(({ uniqueName }) => uniqueName);
  expect(names.length).toBeGreaterThan(1);
  const shown = async () => (await linesOf(page)).map(([name]) => name);
  await expectSoon(shown).toEqual(names);
  await page.reload();
  await expectSoon(shown).toEqual(names);

  await line.fill("nothing-like-this");
  await page.keyboard.press("Enter");
  const empty = page.getByText("No run matches nothing-like-this.");
  await empty.waitFor();
  const held: Route[] = [];
  await page.route("**/graphql", (route) => void held.push(route));
  await page.getByRole("link", { name: "All runs" }).click();
  await page.getByText("Loading ada.mnist.1…").waitFor();
  expect(await empty.count()).toBe(0);
  await page.unroute("**/graphql");
  for (const route of held) await route.fallback();
  await page.getByText("24 runs.").waitFor();
});

test.runIf(hasBrowser)("the filter input fills its bar, but is collapsed on a phone", async () => {
  const { page } = await openAt(GROUP);
  const line = page.getByRole("combobox", { name: "Filter" });
  expect((await line.boundingBox())?.width).toBeGreaterThan(800);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await line.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Filter, groups and columns" }).click();
  expect((await line.boundingBox())?.width).toBeGreaterThan(200);
});
