import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { smooth } from "../../src/smooth.ts";
import { addressOf, expectSoon, openAt, rowOf } from "../page.ts";

const RUN = "#list=ada.mnist.1&run=ada.mnist.1.28";

const dialogOf = (page: Page) => page.getByRole("dialog", { name: /^New run like/ });

const CREATED = `query ($id: ID!) {
  experiment(id: $id) { name tags config { raw } parameters { name value } }
}`;

test.runIf(hasBrowser)("the open run is the template for a new run", async () => {
  const { page, ask, work, pollUntil } = await openAt(`${RUN}&columns=status&sort=metric.loss`);
  await page.getByRole("button", { name: "New run" }).click();
  const dialog = dialogOf(page);
  const specification = dialog.getByLabel("Specification, in YAML");
  const text = await specification.inputValue();
  expect(text).toContain("image: pytorch/pytorch:0.4.1");
  await specification.fill(text.replace("train.py", "tune.py"));
  for (const [field, value] of Object.entries({ Name: "tuned", Tags: "one, two", lr: "0.5" }))
    await dialog.getByLabel(field, { exact: true }).fill(value);
  await dialog.getByText("The specification still has --lr=0.101.").waitFor();
  await dialog.getByRole("button", { name: "Replace it with --lr=0.5" }).click();
  expect(await dialog.getByText("still has").count()).toBe(0);
  await dialog.getByRole("button", { name: "Start" }).click();
  const heading = page.getByRole("heading", { name: /created$/ });
  await heading.waitFor();
  const { run: name = "", ...others } = addressOf(page);
  expect(others).toEqual({ list: "ada.mnist", columns: "status", sort: "metric.loss" });
  const { data } = await ask<{ experiment: object }, object>(CREATED, { id: name });
  expect(data.experiment).toMatchObject({
    name: "tuned",
    tags: ["one", "two"],
    config: { raw: { run: { cmd: "python tune.py --lr=0.5 --dropout=0.25 --activation=sigmoid" } } },
    parameters: [
      { name: "activation", value: "sigmoid" },
      { name: "dropout", value: 0.25 },
      { name: "lr", value: 0.5 },
    ],
  });
  work(60);
  await pollUntil(page.getByRole("heading", { name: `${name} succeeded` }));
});

test.runIf(hasBrowser).each([
  { what: "no valid YAML", specification: "run: {cmd: a\n  b: }", says: "syntax error at line" },
  { what: "of another kind", specification: "version: 1\nkind: job\nrun: {cmd: a}", says: 'got kind: "job"' },
  {
    what: "without a version",
    specification: "kind: experiment\nrun: {cmd: a}",
    says: "`version` must be specified",
  },
])("a specification that is $what is rejected, and remains in its field", async ({ specification, says }) => {
  const { page } = await openAt(RUN);
  await page.getByRole("button", { name: "New run" }).click();
  const field = dialogOf(page).getByLabel("Specification, in YAML");
  await field.fill(specification);
  await dialogOf(page).getByRole("button", { name: "Start" }).click();
  await dialogOf(page).getByRole("alert").getByText(says).waitFor();
  expect(await field.inputValue()).toBe(specification);
});

test.runIf(hasBrowser)("a confirmed stop appears in the heading and in the table", async () => {
  const { page, work, pollUntil } = await openAt("#list=ada.mnist.1&run=ada.mnist.1.44");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop ada.mnist.1.44" }).click();
  await rowOf(page, "ada.mnist.1.44").getByText("stopping").waitFor();
  work(5);
  await pollUntil(page.getByRole("heading", { name: "ada.mnist.1.44 stopped" }));
  await rowOf(page, "ada.mnist.1.44").getByText("stopped").waitFor();
  expect(await page.getByRole("button", { name: "Stop", exact: true }).count()).toBe(0);
});

test.runIf(hasBrowser)("a download is saved unchanged, or not at all if it fails", async () => {
  const { page, demo } = await openAt(`${RUN}&show=files`);
  await page.getByRole("button", { name: "checkpoints/" }).click();
  await page
    .getByRole("button", { name: /^Download checkpoints\// })
    .first()
    .waitFor();
  for (const [button, name, path] of [
    ["Download outputs", "ada.mnist.1.28.tar.gz", "outputs/download"],
    ["Download log", "ada.mnist.1.28.log", "logs"],
  ] as const) {
    await page.route("**/downloads/**", (route) => route.abort());
    await page.getByRole("button", { name: button }).click();
    await page.getByText("The gateway cannot be reached.").waitFor();
    await page.unroute("**/downloads/**");
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Try again" }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(name);
    const response = await fetch(`${demo.url}/api/v1/ada/mnist/experiments/28/${path}`, {
      headers: { authorization: `token ${demo.users[0]?.token}` },
    });
    expect(await readFile(await saved.path())).toEqual(Buffer.from(await response.arrayBuffer()));
  }
});

test.runIf(hasBrowser)("a failed run shows why it failed", async () => {
  const { page } = await openAt("#list=ada.mnist.1&run=ada.mnist.1.27");
  const why = page
    .getByRole("region", { name: "Why it failed" })
    .filter({ hasText: "most recent call last" });
  expect(await why.innerText()).toMatch(/Error/);
});

test.runIf(hasBrowser)("a comparison shows values, marks the best value and draws curves", async () => {
  const { page } = await openAt("#list=ada.mnist&compare=ada.mnist.1.44,ada.mnist.1.28,ada.mnist.42");
  const cells = async (name: string) =>
    (await page.getByRole("table").getByRole("row", { name }).first().innerText()).split("\t").slice(1);
  await page.getByRole("figure", { name: "loss" }).waitFor();
  expect(await cells("activation")).toEqual(["sigmoid", "sigmoid", "relu"]);
  expect((await cells("loss")).filter((cell) => cell.startsWith("★"))).toHaveLength(1);
  const lines = page.getByRole("figure", { name: "loss" }).locator(".recharts-line-curve");
  await expectSoon(() => lines.count()).toBe(3);
  const before = await lines.first().getAttribute("d");
  await page.getByLabel("Smoothing").fill("0.81");
  await page.getByLabel("log scale").check();
  await expectSoon(() => lines.first().getAttribute("d")).not.toBe(before);
  expect(addressOf(page)).toMatchObject({ smooth: "0.81", scale: "log" });
  await page.getByRole("link", { name: "Compare without ada.mnist.42" }).click();
  await page.getByRole("heading", { name: "2 runs compared" }).waitFor();
});

test("smoothing is a moving average without initial bias", () => {
  // (4·½)/½, (0·½ + 4·¼)/¾, (2·½ + 0·¼ + 4·⅛)/⅞, and a gap stays a gap.
  expect(smooth([0, 1, 2, 3], [4, 0, 2, null], 0.5)).toEqual([4, 4 / 3, 12 / 7, null]);
  expect(smooth([0, 10], [4, 0], 0.5)[1]).toBeLessThan(0.01);
  expect(smooth([0, 1], [4, 0], 0)).toEqual([4, 0]);
});
