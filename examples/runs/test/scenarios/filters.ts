import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { alertOf } from "../page.ts";
import { openAt } from "../open-at.ts";

const GROUP = "#list=ada.mnist.1";

/** What the page should show, asked for without it. */
const EXPECTED = `{ group(id: "ada.mnist.1") { experiments(filter: {
  parameters: [{ name: "lr", atLeast: 0.02 }, { name: "dropout", values: ["0.3"] }]
  metrics: [{ name: "loss", lessThan: 0.3 }, { name: "accuracy", greaterThan: 0.94 }]
}) { nodes { uniqueName } } } }`;

interface Found {
  readonly group: { readonly experiments: { readonly nodes: readonly { readonly uniqueName: string }[] } };
}

test.runIf(hasBrowser)("several conditions on parameters and metrics must all hold", async () => {
  const { page, ask, rows, complaints } = await openAt(GROUP);
  const filter = page.getByRole("form", { name: "Filter" });
  await filter.getByLabel("Parameter").fill("lr>=0.02, dropout=0.3");
  await filter.getByLabel("Metric").fill("loss < .3, accuracy>9.4e-1");
  await page.keyboard.press("Enter");
  const { data } = await ask<Found, object>(EXPECTED);
  const names = data.group.experiments.nodes.map(({ uniqueName }) => uniqueName);
  await page.getByText(`${names.length} runs.`).waitFor();
  expect(names.length).toBeGreaterThan(1);
  expect((await rows()).map(([name]) => name)).toEqual(names);

  // Both are one run.
  await filter.getByLabel("Metric").fill("loss < .15");
  await page.keyboard.press("Enter");
  await page.getByText("1 run.", { exact: true }).waitFor();
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("invalid conditions are not sent, and are reported when in the address", async () => {
  const { page, address, sent, complaints } = await openAt(GROUP);
  const filter = page.getByRole("form", { name: "Filter" });
  await page.getByText("12 of 24 runs are loaded.").waitFor();
  sent();
  const parameter = filter.getByLabel("Parameter");
  const isRefused = () => parameter.and(page.locator(":invalid")).isVisible();
  for (const text of ["lr", "lr>=abc", "lr!=0.1", "lr>=0.02, dropout"]) {
    await parameter.fill(text);
    await page.keyboard.press("Enter");
    expect([text, await isRefused()]).toEqual([text, true]);
  }

  await page.goto(`${address}${GROUP}&parameter=${encodeURIComponent("lr!=0.1")}`);
  await page.getByRole("alert").waitFor();
  expect(await alertOf(page)).toBe(
    "Not understood, and not filtered by: lr!=0.1. Conditions look like lr>=0.02, with commas between several.",
  );
  await page.getByText("12 of 24 runs are loaded.").waitFor();
  expect(sent().filter((name) => name === "Group")).toEqual([]);
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("each date that the service sorts by can be ordered both ways", async () => {
  const { page, calls, complaints } = await openAt(GROUP);
  await page.getByText("12 of 24 runs are loaded.").waitFor();
  const order = page.getByLabel("Order");
  for (const [field, direction, sort] of [
    ["UPDATED", "ASC", "updated_at"],
    ["STARTED", "ASC", "started_at"],
    ["STARTED", "DESC", "-started_at"],
  ]) {
    calls();
    await order.selectOption(`${field}_${direction}`);
    await expect.poll(() => page.getByRole("table").isVisible(), SHOWN).toBe(true);
    await expect.poll(calls, SHOWN).toContainEqual(expect.stringContaining(`sort=${sort}%2C`));
  }
  expect(complaints).toEqual([]);
});
