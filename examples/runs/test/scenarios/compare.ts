import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { LONG_TIMEOUT } from "../../../../test/support/long-timeout.ts";
import { smooth } from "../../src/curve.ts";
import { faultsOf, looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { alertOf, focusIn } from "../page.ts";

const NAMES = ["ada.mnist.1.44", "ada.mnist.1.28", "ada.mnist.42"];
const COMPARISON = `#list=ada.mnist&compare=${NAMES.join(",")}`;

const chartOf = (page: Page, metric: string) => page.getByRole("figure").filter({ hasText: metric });

/** How many pixels of the canvas of a chart have about this colour. */
const pixelsOf = (page: Page, metric: string, colour: readonly [number, number, number]) =>
  chartOf(page, metric)
    .locator("canvas")
    .evaluate((canvas: HTMLCanvasElement, [red, green, blue]) => {
      const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      let found = 0;
      for (let at = 0; at < pixels.length; at += 4) {
        const [r = 0, g = 0, b = 0, a = 0] = pixels.slice(at, at + 4);
        if (a > 200 && Math.abs(r - red) + Math.abs(g - green) + Math.abs(b - blue) < 24) found += 1;
      }
      return found;
    }, colour);

const BLUE = [0, 0x72, 0xb2] as const;

test.runIf(hasBrowser)("a comparison shows differences, best values and one chart per metric", async () => {
  const { page, calls, complaints } = await openAt(COMPARISON);
  const table = page.getByRole("table").filter({ hasText: "Parameters" });
  await table.waitFor();
  await chartOf(page, "loss").waitFor();
  expect(calls().filter((call) => !call.includes("users"))).toEqual([
    "GET ada/mnist/experiments/42/metrics",
    "GET ada/mnist/experiments?query=id%3A44%7C28%7C42&limit=100",
    "GET ada/mnist/groups/1/metrics",
  ]);
  expect(await table.locator("thead a:not(.remove)").allInnerTexts()).toEqual(NAMES);
  const rowOf = async (name: string) =>
    (await table.getByRole("row", { name }).first().innerText()).split("\t").slice(1);
  expect(await rowOf("activation")).toEqual(["sigmoid", "sigmoid", "relu"]);
  expect(await rowOf("kernel")).toEqual(["–", "–", "5"]);
  expect((await rowOf("loss")).filter((cell) => cell.includes("best"))).toHaveLength(1);
  expect(await table.getByRole("rowheader", { name: "framework" }).count()).toBe(0);
  await page.getByRole("checkbox", { name: "also what is the same" }).check();
  expect(await rowOf("framework")).toEqual(["pytorch", "pytorch", "pytorch"]);
  expect(new URL(page.url()).hash).toContain("rows=all");

  for (const metric of ["accuracy", "loss"])
    expect(await chartOf(page, metric).locator(".readings li").allInnerTexts()).toHaveLength(3);
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBeGreaterThan(100);
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("a legend entry hides a curve and restores it in its colour", async () => {
  const { page } = await openAt(COMPARISON);
  const name = page.getByRole("list", { name: "Runs" }).getByRole("button", { name: NAMES[0] ?? "" });
  await chartOf(page, "loss").waitFor();
  await name.click();
  await expect.poll(() => name.getAttribute("aria-pressed"), SHOWN).toBe("false");
  await page.mouse.move(0, 0);
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBe(0);
  expect(await chartOf(page, "loss").locator(".readings li").allInnerTexts()).toHaveLength(2);
  expect(await faultsOf(page)).toEqual([]);
  await name.press("Enter");
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBeGreaterThan(100);
});

test.runIf(hasBrowser)(
  "smoothing, log scale and time axis persist in the address across reloads",
  async () => {
    const { page } = await openAt(COMPARISON);
    await chartOf(page, "loss").waitFor();
    await page.getByRole("combobox", { name: "Over" }).selectOption("time");
    await page.getByRole("img", { name: "loss over time" }).waitFor();
    await page.getByRole("slider", { name: "Smoothing" }).fill("0.81");
    await page.getByRole("checkbox", { name: "log scale" }).check();
    const { searchParams } = new URL(`http://page?${new URL(page.url()).hash.slice(1)}`);
    expect(["axis", "scale", "smooth"].map((name) => searchParams.get(name))).toEqual([
      "time",
      "log",
      "0.81",
    ]);

    await page.reload();
    await page.getByRole("img", { name: "loss over time" }).waitFor();
    expect(await page.getByRole("slider", { name: "Smoothing" }).inputValue()).toBe("0.81");
    expect(await page.getByRole("checkbox", { name: "log scale" }).isChecked()).toBe(true);
    await page.goBack();
    await page.getByRole("heading", { name: "Projects of ada" }).waitFor();
  },
);

const pointsOf = (...values: readonly (readonly [number, number])[]) =>
  values.map(([step, value]) => ({ step, second: step, value }));

test("smoothing is a bias-corrected exponential moving average", () => {
  const smoothed = smooth(pointsOf([0, 4], [1, 0], [2, 2]), 0.5);
  // (4·½)/½, (0·½ + 4·¼)/¾, (2·½ + 0·¼ + 4·⅛)/⅞.
  expect(smoothed[0]).toBeCloseTo(4, 12);
  expect(smoothed[1]).toBeCloseTo(4 / 3, 12);
  expect(smoothed[2]).toBeCloseTo(12 / 7, 12);
  expect(smooth(pointsOf([0, 3], [1, 3], [7, 3]), 0.9).map((value) => value?.toFixed(9))).toEqual(
    Array(3).fill("3.000000000"),
  );
  // Where steps were left out, the past has faded as much.
  const gap = smooth(pointsOf([0, 4], [10, 0]), 0.5);
  expect(gap[1]).toBeLessThan(0.01);
  expect(smooth(pointsOf([0, 4], [1, 0], [2, 2]), 0)).toEqual([4, 0, 2]);
  // A gap stays one: (1·¼ + 3·¾)/(¾·¼ + ¾) behind it.
  const [before, after] = [pointsOf([0, 4], [1, 0]), pointsOf([3, 3])];
  const around = smooth([...before, { step: 2, second: 2, value: null }, ...after], 0.5);
  expect(around[2]).toBeNull();
  expect(around[3]).toBeCloseTo(8 / 3, 12);
});

test.runIf(hasBrowser)("log charts count omitted values; a trailing gap leaves no last value", async () => {
  const { page } = await openAt("#list=ada.mnist");
  await page.getByRole("table").waitFor();
  await page.route("**/graphql", async (route) => {
    if (route.request().postDataJSON().operationName !== "Compare") return route.fallback();
    const response = await route.fetch();
    const body = await response.text();
    // The first and last loss of each run.
    const losses = /("name":"loss","steps":[^:]*,"times":.*?,"values":\[)[^,]*([^\]]*),[^\]]*/g;
    const changed = body.replaceAll(losses, "$1-1$2,null");
    expect(changed).not.toBe(body);
    return route.fulfill({ response, body: changed });
  });
  await page.evaluate((hash) => location.assign(hash), `${COMPARISON}&scale=log`);
  await chartOf(page, "loss").getByText("3 values of 0 or less not shown.").waitFor();
  expect(await chartOf(page, "accuracy").getByText("not shown").count()).toBe(0);
  expect(await chartOf(page, "loss").locator(".readings strong").allInnerTexts()).toEqual(["–", "–", "–"]);
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBeGreaterThan(100);
});

test.runIf(hasBrowser)("open charts follow a change of the browser's colour scheme", async () => {
  const { page } = await openAt(COMPARISON);
  await chartOf(page, "loss").waitFor();
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBeGreaterThan(100);
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => pixelsOf(page, "loss", [0x4b, 0xa3, 0xe3]), SHOWN).toBeGreaterThan(100);
  await expect.poll(() => pixelsOf(page, "loss", BLUE), SHOWN).toBe(0);
});

test.runIf(hasBrowser)("drag and buttons zoom the charts; pointer and keys read values", async () => {
  const { page } = await openAt(COMPARISON);
  const chart = chartOf(page, "loss");
  const plot = chart.locator(".u-over");
  // It is drawn anew once its width is known.
  const box = await vi.waitUntil(() => plot.boundingBox(), LONG_TIMEOUT);
  const reset = page.getByRole("button", { name: "Reset zoom" });
  expect(await reset.isDisabled()).toBe(true);

  await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => reset.isDisabled(), SHOWN).toBe(false);
  // A quarter of 60 steps is shown now: its middle is between the steps 15 and 30.
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  await chart.getByText(/^step 2[123]$/).waitFor();
  await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 60);
  await expect.poll(() => reset.isDisabled(), SHOWN).toBe(true);
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  await chart.getByText(/^step (29|30)$/).waitFor();
  await page.mouse.move(0, 0);
  await chart.getByText("last values").waitFor();

  await page.getByRole("button", { name: "Zoom in" }).press("Enter");
  await page.getByRole("button", { name: "Further on" }).press("Enter");
  await page.getByRole("button", { name: "Zoom out" }).press("Enter");
  await page.getByRole("button", { name: "Zoom out" }).press("Enter");
  await expect.poll(() => reset.isDisabled(), SHOWN).toBe(true);

  const reading = page.getByRole("slider", { name: "Value of loss" });
  await reading.press("Home");
  await chart.getByText("step 0", { exact: true }).waitFor();
  expect(await reading.getAttribute("aria-valuetext")).toMatch(
    /^ada\.mnist\.1\.44 \d\.\d{4} at step 0, ada\.mnist\.1\.28 /,
  );
  await chart.getByText("Numbers of loss").click();
  expect(await chart.getByRole("row", { name: NAMES[2] ?? "" }).innerText()).toMatch(
    /^ada\.mnist\.42\t60\t2\.1210\t0\.1115\t0\.4545\t0\.1020 at 57\t/,
  );
});

test.runIf(hasBrowser)("a comparison opened from a list allows removing and adding runs", async () => {
  const { page } = await openAt("#list=ada.mnist.1");
  await page.getByRole("link", { name: /^Compare these/ }).click();
  await page.getByRole("heading", { name: "12 runs compared" }).waitFor();
  await page.getByRole("link", { name: "Compare without ada.mnist.1.44" }).click();
  await page.getByRole("heading", { name: "11 runs compared" }).waitFor();
  await page.getByLabel("Another run").fill("ada.mnist.42");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("heading", { name: "12 runs compared" }).waitFor();
  await page.getByRole("columnheader", { name: "ada.mnist.42" }).waitFor();
  expect(await page.title()).toBe("12 runs compared – Runs");
  await page
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "ada.mnist.1" })
    .click();
  await page.getByRole("table", { name: "Runs of ada.mnist.1" }).waitFor();
});

test.runIf(hasBrowser)("a comparison can be used by keyboard alone", async () => {
  const { page } = await openAt(COMPARISON);
  await chartOf(page, "loss").waitFor();
  const { keyboard } = page;
  const focused = page.locator(":focus");
  /** Presses Tab until something with this name has the focus. */
  const tabTo = async (role: "button" | "checkbox" | "combobox" | "link" | "slider", name: string) => {
    const wanted = page.getByRole(role, { name, exact: true }).and(focused);
    for (let presses = 0; presses < 60 && (await wanted.count()) === 0; presses += 1)
      await keyboard.press("Tab");
    await wanted.waitFor();
  };
  await tabTo("combobox", "Over");
  await keyboard.press("ArrowDown");
  await page.getByRole("img", { name: "loss over time" }).waitFor();
  await tabTo("slider", "Smoothing");
  await keyboard.press("ArrowRight");
  await page.getByText("0.03", { exact: true }).waitFor();
  await tabTo("checkbox", "log scale");
  await keyboard.press("Space");
  await tabTo("button", "Zoom in");
  await keyboard.press("Enter");
  await tabTo("button", "Reset zoom");
  await keyboard.press("Enter");
  await tabTo("button", NAMES[1] ?? "");
  await keyboard.press("Space");
  await expect.poll(() => chartOf(page, "loss").locator(".readings li").count(), SHOWN).toBe(2);
  await tabTo("slider", "Value of loss");
  await keyboard.press("Home");
  await chartOf(page, "loss").getByText("0:00", { exact: true }).waitFor();
  await tabTo("link", `Compare without ${NAMES[1]}`);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "2 runs compared" }).waitFor();
  expect(new URL(page.url()).hash).toMatch(/&axis=time&smooth=0\.03&scale=log$/);
});

test.runIf(hasBrowser)("a comparison reports a missing run and still compares the others", async () => {
  const { page } = await openAt("#compare=ada.mnist.1.44,ada.mnist.999,ada.mnist.42,ada.mnist.1.43,x");
  await page.getByRole("heading", { name: "3 runs compared" }).waitFor();
  await page.getByRole("columnheader", { name: "ada.mnist.42" }).waitFor();
  expect(await alertOf(page)).toMatch(
    /^Not compared, because there is no such run:\s+ada\.mnist\.999 ×\s+x ×$/,
  );
  expect(await faultsOf(page)).toEqual([]);
  for (const name of ["ada.mnist.999", "x"]) {
    const leaveOut = page.getByRole("link", { name: `Compare without ${name}`, exact: true });
    await leaveOut.click();
    // The other link leads on from here only now.
    await leaveOut.waitFor({ state: "detached" });
  }
  await expect.poll(() => page.getByRole("alert").count(), SHOWN).toBe(0);
  await page.getByRole("link", { name: "Compare without ada.mnist.42" }).click();
  await page.getByRole("columnheader", { name: "ada.mnist.42" }).waitFor({ state: "detached" });
  await expect.poll(() => focusIn(page), SHOWN).not.toBe("body");
});

test.runIf(hasBrowser)("each run has a distinct line: seven colours, then dashes", async () => {
  const names = [10, 15, 18, 22, 25, 28, 44, 17].map((id) => `ada.mnist.1.${id}`).join(",");
  const { page, picture } = await openAt(`#list=ada.mnist.1&smooth=0.6&compare=${names}`, {
    viewport: { width: 1280, height: 960 },
  });
  await chartOf(page, "loss").waitFor();
  const lines = await page
    .getByRole("list", { name: "Runs" })
    .locator(".swatch path")
    .evaluateAll((paths) =>
      paths.map((path) => `${getComputedStyle(path).stroke} ${path.getAttribute("stroke-dasharray")}`),
    );
  expect(lines).toHaveLength(8);
  expect(new Set(lines).size).toBe(8);
  expect(new Set(lines.map((line) => line.split(") ")[0])).size).toBe(7);
  await picture("runs-compare");
});

test.runIf(hasBrowser)("a comparison renders well in every size and mode", async () => {
  const opened = await openAt(`${COMPARISON}&smooth=0.6`);
  const { page, complaints } = opened;
  await chartOf(page, "loss").waitFor();
  await looksWell(opened, "compare");
  await page.getByText("Numbers of loss").click();
  await page.getByRole("checkbox", { name: "also what is the same" }).check();
  await page.getByRole("slider", { name: "lr, at least" }).press("ArrowUp");
  await looksWell(opened, "compare-numbers");
  // It ends with a phone, where two runs stand side by side, too.
  for (const run of NAMES.slice(0, 2)) {
    const { x = 0, width = 999 } = (await page.getByRole("columnheader", { name: run }).boundingBox()) ?? {};
    expect(x + width).toBeLessThan(390);
  }
  const name = await page.getByRole("rowheader", { name: "accuracy" }).boundingBox();
  expect(name?.height).toBeLessThan(50);
  expect(complaints).toEqual([]);
});
