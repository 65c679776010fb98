import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { faultsOf } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { chooseStatus, focusIn, PHONE } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

test.runIf(hasBrowser)(
  "runs stay selected across sorting, filtering and comparing; hidden ones are counted",
  async () => {
    const { page, complaints } = await openAt(GROUP);
    const chosen = page.getByRole("region", { name: "Selected runs" });
    for (const name of ["46", "24"]) await page.getByLabel(`Select ada.mnist.1.${name}`).check();
    await chosen.getByText("2 runs selected").waitFor();

    await page.getByRole("link", { name: "loss", exact: true }).click();
    await page.getByText("Sorted by loss, best first.").waitFor();
    await chosen.getByText("2 runs selected").waitFor();
    await chosen.getByText("2 of them are not in the list below.").waitFor();
    await page.getByLabel("Select ada.mnist.1.10").check();
    await chosen.getByText("3 runs selected").waitFor();

    await page.getByLabel("Words").fill("no such word");
    await page.keyboard.press("Enter");
    await page.getByText("No run matches no such word.").waitFor();
    await chosen.getByText("3 of them are not in the list below.").waitFor();
    await chosen.getByRole("button", { name: "Stop" }).click();
    const question = page.getByRole("dialog", { name: "Stop 3 runs?" });
    await question.getByText("ada.mnist.1.46, ada.mnist.1.24, ada.mnist.1.10").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");

    await chosen.getByRole("link", { name: "Compare" }).click();
    await page.getByRole("heading", { name: "3 runs compared" }).waitFor();
    await page.goBack();
    await chosen.getByText("3 runs selected").waitFor();
    await chosen.getByRole("button", { name: "Clear" }).click();
    await chosen.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  },
);

test.runIf(hasBrowser)("archiving is confirmed after runs leave the list, and can be undone", async () => {
  const { page, complaints } = await openAt(GROUP);
  const chosen = page.getByRole("region", { name: "Selected runs" });
  const selectOf = (name: string) => page.getByLabel(`Select ada.mnist.1.${name}`);
  const archive = async (names: readonly string[]) => {
    for (const name of names) await selectOf(name).check();
    await chosen.getByRole("button", { name: "Archive" }).click();
    await page.getByRole("button", { name: "Archive them" }).click();
    for (const name of names) await selectOf(name).waitFor({ state: "detached" });
    await chosen.getByText(`Archived ${names.length} runs.`).waitFor();
    expect(await chosen.getByText("selected").count()).toBe(0);
  };
  const undo = async (names: readonly string[]) => {
    await chosen.getByRole("button", { name: "Undo" }).click();
    await chosen.getByText(`Restored ${names.length} runs.`).waitFor();
    for (const name of names) await selectOf(name).waitFor();
    expect(await focusIn(page)).not.toBe("body");
  };
  // One of them is on a page that is not read again.
  await page.getByRole("button", { name: "Load more" }).click();
  await archive(["28", "12"]);
  await undo(["28", "12"]);
  // And the last ones of a list.
  await chooseStatus(page, "failed");
  await page.getByText("3 runs.", { exact: true }).waitFor();
  await archive(["27", "20", "12"]);
  await page.getByText("No run matches failed.").waitFor();
  await undo(["27", "20", "12"]);
  await chosen.getByRole("button", { name: "Clear" }).click();
  await chosen.waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
});

/** Whether its upper border, and what is below it, are in the window. */
const topOf = (part: Locator) =>
  part.evaluate((element) => {
    const { top, left, bottom } = element.getBoundingClientRect();
    const seen = document.elementFromPoint(left + 4, (top + bottom) / 2);
    return seen !== null && element.contains(seen);
  });

/** Starts many runs more in the project `ada.speech`. */
const MORE = `mutation ($id: ID!) { ${Array.from(
  { length: 20 },
  (_, at) => `run${at}: restartExperiment(id: $id) { experiment { id } }`,
).join(" ")} }`;

test.runIf(hasBrowser)("long lists load in few pages; actions cover more than 100 runs", async () => {
  const { page, ask, sent, calls, complaints } = await openAt("#list=ada.mnist");
  for (let times = 0; times < 6; times += 1) await ask(MORE, { id: "ada.speech.36" });
  await page.goto(`${new URL(page.url()).origin}/#list=ada.speech`);
  await page.getByText("12 of 125 runs are loaded.").waitFor();
  sent();
  for (const loaded of ["24 of 125 runs", "48 of 125 runs", "96 of 125 runs", "125 runs."]) {
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByText(loaded).waitFor();
  }
  expect(sent().filter((name) => name === "MoreRuns")).toHaveLength(4);
  // The button has gone, and what stands beside it has the focus.
  expect(await focusIn(page)).toBe("Compare the first 100");

  await page.getByLabel("Select all loaded runs").check();
  const chosen = page.getByRole("region", { name: "Selected runs" });
  await chosen.getByText("125 runs selected").waitFor();
  for (const size of [PHONE, { width: 1280, height: 640 }]) {
    await page.setViewportSize(size);
    await page.getByRole("rowheader").last().scrollIntoViewIfNeeded();
    await page.evaluate("scrollTo(0, 1e6)");
    for (const part of [page.getByRole("rowheader").last(), page.getByRole("columnheader").first(), chosen])
      await expect.poll(() => topOf(part), SHOWN).toBe(true);
  }
  await chosen.getByRole("link", { name: "Compare the first 100" }).waitFor();
  calls();
  let portions = 0;
  await page.route("**/graphql", async (route) => {
    const { operationName } = route.request().postDataJSON();
    if (operationName === "BookmarkSelected") portions += 1;
    if (portions === 2) await chosen.getByText("Bookmarked 100 of 125 runs…").waitFor();
    return route.fallback();
  });
  await chosen.getByRole("button", { name: "Bookmark" }).click();
  await chosen.getByText("Bookmarked 125 runs.").waitFor();
  await expect.poll(() => page.getByRole("alert").count(), SHOWN).toBe(0);
  expect(calls().filter((call) => call.endsWith("/bookmark/"))).toHaveLength(125);
  expect(complaints).toEqual([]);
});
