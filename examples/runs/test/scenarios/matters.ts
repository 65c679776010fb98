import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";

/** What the page should show, asked for without it. */
const EXPECTED = `{ group(id: "ada.mnist.1") { experiments(filter: { statuses: [SUCCEEDED] }) { summary {
  importance(metric: "loss") { name correlation }
  breakdown(by: [{ parameter: "lr" }], metrics: ["loss"]) { count metrics { count mean standardDeviation } }
} } } }`;

interface Found {
  readonly group: {
    readonly experiments: {
      readonly summary: {
        readonly importance: readonly { readonly name: string; readonly correlation: number }[];
        readonly breakdown: readonly {
          readonly count: number;
          readonly metrics: readonly [
            {
              readonly count: number;
              readonly mean: number | null;
              readonly standardDeviation: number | null;
            },
          ];
        }[];
      };
    };
  };
}

const digits = (value: number | null) => value?.toFixed(4) ?? "–";

test.runIf(hasBrowser)("a metric's analysis shows parameters, groups and one point per run", async () => {
  const opened = await openAt("#list=ada.mnist.1&status=SUCCEEDED&sort=loss");
  const { page, ask, complaints } = opened;
  await page.getByRole("link", { name: "What matters" }).click();
  const importance = page.getByRole("region", { name: "Parameters that go with loss" });
  await importance.getByRole("button", { name: "lr" }).click();
  const groups = page.getByRole("region", { name: "loss by lr" });
  await groups.waitFor();
  const { summary } = (await ask<Found, object>(EXPECTED)).data.group.experiments;
  for (const { name, correlation } of summary.importance)
    await importance
      .getByRole("listitem")
      .filter({ hasText: name })
      .getByText(correlation.toFixed(2))
      .waitFor();
  const means = summary.breakdown.map(
    ({ metrics: [{ mean, standardDeviation }] }) =>
      `${digits(mean)}${standardDeviation === null ? "" : ` ± ${digits(standardDeviation)}`}`,
  );
  await expect.poll(() => groups.locator("td:nth-child(3)").allInnerTexts(), SHOWN).toEqual(means);
  const points = page.getByRole("group", { name: /^loss over lr/ }).getByRole("link");
  const count = summary.breakdown.reduce((sum, { metrics: [each] }) => sum + each.count, 0);
  expect(await points.count()).toBe(count);
  await looksWell(opened, "matters");
  await points.first().focus();
  await page.keyboard.press("ArrowRight");
  const [run = ""] = (await page.locator(":focus").getAttribute("aria-label"))?.split(":") ?? [];
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: run }).waitFor();
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)(
  "the page sorts by parameter, status, duration and best metric by itself",
  async () => {
    const { page, rows, complaints } = await openAt("#list=ada.mnist.1");
    await page.getByText("12 of 24 runs are loaded.").waitFor();
    const cellsOf = async (at: number) => (await rows()).map((cells) => cells[at] ?? "");
    const header = (name: RegExp) => page.getByRole("columnheader", { name }).getByRole("link");
    await header(/^lr/).click();
    await page.getByText("By lr, ascending, of the runs that are loaded. 24 runs.").waitFor();
    const rates = (await cellsOf(4)).map(Number);
    expect(rates).toEqual(rates.toSorted((one, other) => one - other));
    await header(/^status/).click();
    await page.getByText("By status, ascending, of").waitFor();
    expect([...new Set(await cellsOf(1))]).toEqual(
      (await cellsOf(1)).filter((each, at, all) => each !== all[at - 1]),
    );
    for (const word of ["ascending", "descending"]) {
      await header(/^duration/).click();
      await page.getByText(`By duration, ${word}, of`).waitFor();
    }
    const cells = (await page.locator("tbody tr").allInnerTexts()).map(
      (line) => line.split("\t").at(-2) ?? "",
    );
    const seconds = cells
      .filter((cell) => cell !== "–")
      .map((cell) => cell.split(":").reduce((sum, part) => sum * 60 + Number(part), 0));
    expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
    await page.getByText("Columns", { exact: true }).click();
    for (const name of ["best", "largest"]) await page.getByLabel(name).click();
    await header(/^best loss/).click();
    await page.getByText("By smallest loss, ascending, of").waitFor();
    const best = async () => {
      const [last = "", least = "", most = ""] = ((await rows())[0] ?? []).slice(8);
      return [Number(least) <= Number(last), Number(last) < Number(most)];
    };
    await expect.poll(best, SHOWN).toEqual([true, true]);
    expect(complaints).toEqual([]);
  },
);
