import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { openAt } from "../open-at.ts";
import { PHONE } from "../page.ts";

const GROUP = Array.from({ length: 12 }, (_, at) => `ada.mnist.1.${at + 9}`);
const HASH = `#list=ada.mnist.1&compare=${GROUP.join(",")}`;

/** What of the runs the page should keep, asked for without it. */
const VALUES = `query ($ids: [ID!]!) {
  compareExperiments(ids: $ids) { parameters { name values } metrics { name values } }
}`;

interface Compared {
  readonly name: string;
  readonly values: readonly (number | string | null)[];
}
interface Values {
  readonly compareExperiments: {
    readonly parameters: readonly Compared[];
    readonly metrics: readonly Compared[];
  };
}

async function openParallel(options = {}) {
  const opened = await openAt(HASH, options);
  const section = opened.page.getByRole("region", { name: /^Parameters and/ });
  // It stands below the charts, which come later and move it.
  await opened.page.getByRole("img", { name: "loss over steps" }).waitFor();
  const { data } = await opened.ask<Values, { ids: readonly string[] }>(VALUES, { ids: GROUP });
  const { parameters, metrics } = data.compareExperiments;
  const valuesOf = (name: string) =>
    [...parameters, ...metrics].find((each) => each.name === name)?.values ?? [];
  /** The runs whose value of a parameter or metric is as wanted. */
  const runsWhere = (name: string, isWanted: (value: number) => boolean) =>
    GROUP.filter((_run, at) => {
      const value = valuesOf(name)[at];
      return typeof value === "number" && isWanted(value);
    });
  const kept = () =>
    section
      .locator("[data-kept=true]")
      .evaluateAll((lines) => lines.map((line) => line.getAttribute("data-run")).toSorted());
  return { ...opened, section, valuesOf, runsWhere, kept };
}

test.runIf(hasBrowser)("dragging along an axis keeps runs in range; clicking keeps all", async () => {
  const { page, section, valuesOf, runsWhere, kept } = await openParallel();
  await expect.poll(kept, SHOWN).toEqual(GROUP.toSorted());
  await section.getByRole("combobox", { name: "Metric" }).selectOption("loss");
  const axis = section.locator('[data-axis="loss"]');
  await axis.scrollIntoViewIfNeeded();
  const box = await axis.boundingBox();
  if (!box) throw new Error("expected an axis, got none");
  const [x, bottom] = [box.x + box.width / 2, box.y + box.height];

  await page.mouse.move(x, bottom + 5);
  await page.mouse.move(x, bottom - 1);
  await page.mouse.down();
  await page.mouse.move(x, bottom - box.height / 2, { steps: 4 });
  await page.mouse.up();
  const numbers = valuesOf("loss").filter((value) => typeof value === "number");
  const middle = (Math.min(...numbers) + Math.max(...numbers)) / 2;
  const wanted = runsWhere("loss", (loss) => loss <= middle);
  expect(wanted.length).toBeGreaterThan(1);
  // The lowest of them stands on the end itself, where the drag began a pixel further up.
  await page.getByRole("slider", { name: "loss, at least" }).press("Home");
  await expect.poll(kept, SHOWN).toEqual(wanted.toSorted());
  await section.getByText(`${wanted.length} of 12 runs`).waitFor();

  await page.mouse.click(x, bottom - 20);
  await expect.poll(kept, SHOWN).toHaveLength(12);
});

test.runIf(hasBrowser)("a finger drags along an axis without scrolling the page", async () => {
  const { page, section, kept } = await openParallel({ viewport: PHONE, hasTouch: true });
  const axis = section.locator('[data-axis="lr"]');
  await axis.scrollIntoViewIfNeeded();
  const box = await axis.boundingBox();
  if (!box) throw new Error("expected an axis, got none");
  const scrolled = () => page.evaluate<number>("scrollY");
  const before = await scrolled();

  const touch = await page.context().newCDPSession(page);
  const finger = (type: "touchStart" | "touchMove" | "touchEnd", ...places: readonly number[]) =>
    touch.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: places.map((place) => ({ x: box.x + box.width / 2, y: box.y + box.height * place })),
    });
  await finger("touchStart", 0.1);
  for (const place of [0.2, 0.3, 0.4, 0.5, 0.6]) await finger("touchMove", place);
  await finger("touchEnd");
  const low = page.getByRole("slider", { name: "lr, at least" });
  const ends = async () => Number(await low.getAttribute("aria-valuenow"));
  await expect.poll(ends, SHOWN).toBeCloseTo(40, -1);
  await expect.poll(async () => (await kept()).length, SHOWN).toBeLessThan(12);
  expect(await scrolled()).toBe(before);
});

test.runIf(hasBrowser)("keys move axis ends, and the kept runs can be compared alone", async () => {
  const { page, section, runsWhere, kept } = await openParallel();
  const least = page.getByRole("slider", { name: "dropout, at least" });
  await least.press("ArrowUp");
  await expect
    .poll(async () => Number(await least.getAttribute("aria-valuetext")), SHOWN)
    .toBeGreaterThan(0.25);
  const wanted = runsWhere("dropout", (dropout) => dropout > 0.25);
  expect(wanted.length).toBeGreaterThan(1);
  expect(wanted.length).toBeLessThan(12);
  await expect.poll(kept, SHOWN).toEqual(wanted.toSorted());
  await section.getByRole("link", { name: "Compare only these" }).click();
  await page.getByRole("heading", { name: `${wanted.length} runs compared` }).waitFor();
  await expect.poll(kept, SHOWN).toEqual(wanted.toSorted());
});
