import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { spreadBetween } from "../../src/rank.ts";
import { addressOf, openAt } from "../page.ts";

test.runIf(hasBrowser)(
  "numeric parameters are ranked by correlation, texts by spread between groups",
  async () => {
    const { page } = await openAt("#list=ada.mnist.1");
    await page.getByRole("link", { name: "What matters" }).click();
    await page.getByRole("combobox", { name: /^Metric/ }).selectOption("loss");
    const ranked = page.getByRole("region", { name: "Parameters that go with loss" }).getByRole("listitem");
    await ranked.first().waitFor();
    const texts = (await ranked.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
    expect(texts).toHaveLength(3);
    expect(texts.filter((text) => /^(?:lr|dropout) -?\d\.\d\d rank correlation$/.test(text))).toHaveLength(2);
    expect(texts.filter((text) => /^activation \d\.\d\d spread between groups$/.test(text))).toHaveLength(1);
    await page.getByText("Near 0, there is no overall trend, but the parameter can still matter").waitFor();
    await ranked.getByRole("link", { name: "activation" }).click();
    await page.getByRole("button", { name: /^relu .* activation$/ }).waitFor();
    expect(addressOf(page)).toEqual({
      list: "ada.mnist.1",
      group: "parameter.activation",
      sort: "metric.loss",
    });
  },
);

test.runIf(hasBrowser)("parameters that cannot be ranked are listed with the reason", async () => {
  const { page } = await openAt("#list=ada.mnist.1&matters=loss&filter=activation%3Drelu");
  const leftOut = page.getByText("Not ranked:");
  expect(await leftOut.innerText()).toBe("Not ranked: activation (the same in all runs).");
});

const group = (count: number, mean: number | null, standardDeviation: number | null) => ({
  metrics: [{ count, mean, standardDeviation }],
});

test.each([
  ["far apart", [group(5, 1, 0), group(5, 2, 0)], 1],
  ["as much within as between", [group(2, 1, 1), group(2, 1, 1)], 0],
  ["one group", [group(5, 1, 1)], null],
  ["one run each", [group(1, 1, null), group(1, 2, null)], null],
  ["no values", [group(0, null, null), group(5, 1, 1)], null],
  ["in between", [group(3, 0, 1), group(3, 2, 1)], Math.sqrt(0.5)],
] as const)("the spread between groups is correct: %s", (_name, groups, expected) => {
  const spread = spreadBetween(groups);
  expect(spread === null ? null : spread.toFixed(9)).toBe(expected?.toFixed(9) ?? null);
});
