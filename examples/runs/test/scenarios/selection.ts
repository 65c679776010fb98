import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { expectSoon, linesOf, openAt, rowOf } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

test.runIf(hasBrowser)("the selection survives sorting, filtering, a comparison and a reload", async () => {
  const { page, address } = await openAt(GROUP);
  const chosen = page.getByRole("region", { name: "Selected runs" });
  for (const name of ["46", "24"]) await page.getByLabel(`Select ada.mnist.1.${name}`).check();
  await chosen.getByText("2 runs selected").waitFor();
  await page.goto(`${address}${GROUP}&filter=status:failed&sort=metric.loss`);
  await chosen.getByText("2 of them are not in the list below.").waitFor();
  await page.reload();
  await chosen.getByText("2 of them are not in the list below.").waitFor();
  await chosen.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "2 runs compared" }).waitFor();
  await page.reload();
  await page.goBack();
  await chosen.getByText("2 runs selected").waitFor();
  await chosen.getByRole("button", { name: "Clear" }).click();
  await page.reload();
  await rowOf(page, "ada.mnist.1.27").waitFor();
  expect(await chosen.count()).toBe(0);
});

test.runIf(hasBrowser)("selected runs are stopped after confirmation", async () => {
  const { page, calls } = await openAt(`${GROUP}&filter=status:running,succeeded`);
  const chosen = page.getByRole("region", { name: "Selected runs" });
  for (const name of ["43", "44", "28"]) await page.getByLabel(`Select ada.mnist.1.${name}`).check();
  calls();
  await chosen.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog", { name: "Stop 3 runs?" }).waitFor();
  await page.keyboard.press("Escape");
  expect(calls().filter((call) => call.endsWith("/stop"))).toEqual([]);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop 3 runs" }).click();
  // One of them had already finished.
  await chosen.getByText("Stopped 2 of 3 runs.").waitFor();
  expect(await chosen.getByText("Not done").count()).toBe(0);
});

test.runIf(hasBrowser)("archived runs are restored in the archive, to which their list links", async () => {
  const { page } = await openAt(GROUP);
  const chosen = page.getByRole("region", { name: "Selected runs" });
  await page.getByLabel("Select all loaded runs").check();
  await chosen.getByRole("button", { name: "Archive" }).click();
  await page.getByRole("button", { name: "Archive 24 runs" }).click();
  await page.getByText("24 runs archived. There are no others.").waitFor();
  expect(await page.getByText("No runs yet").count()).toBe(0);
  await page.getByRole("paragraph").getByRole("link", { name: "Archive" }).last().click();
  await page.getByRole("heading", { name: "Archive" }).waitFor();
  const lines = page.getByRole("listitem");
  await expectSoon(() => lines.filter({ hasText: "ada.mnist.1." }).count()).toBe(24);
  for (const name of ["ada.mnist.1.10", "ada.mnist.1.28"]) {
    await page.getByRole("button", { name: `Restore ${name}` }).click();
    await lines.filter({ hasText: name }).getByText("Restored.").waitFor();
  }
  await page.goBack();
  await expectSoon(async () => (await linesOf(page)).map(([name]) => name)).toEqual([
    "ada.mnist.1.28",
    "ada.mnist.1.10",
  ]);
});
