import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";
import { hasBrowser } from "../../../test/support/browser.ts";
import { alertOf, focusIn, open, signIn } from "./page.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

test.runIf(hasBrowser)("a run is stopped once that is confirmed, and the table says so too", async () => {
  const now = Date.now();
  const { url, calls } = await startDemoGateway({ env, now: () => now });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.44").click();
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  const question = page.getByRole("dialog", { name: "Stop ada.mnist.1.44?" });

  await stop.click();
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "hidden" });
  expect(calls().filter((call) => call.startsWith("POST ada"))).toEqual([]);

  // The focus is back where it was.
  await page.keyboard.press("Enter");
  await question.getByRole("button", { name: "Stop the run" }).click();
  await page.getByRole("row", { name: "ada.mnist.1.44" }).getByText("stopping").waitFor();
  await page.getByText("Stopping…").waitFor();
  expect(calls().filter((call) => call.startsWith("POST ada"))).toEqual([
    "POST ada/mnist/experiments/44/stop",
  ]);
  expect(await stop.isDisabled()).toBe(true);
  expect(await focusIn(page)).toBe("Stop");
  const bookmark = page.getByRole("button", { name: "Bookmark", exact: true });
  await bookmark.click();
  await page.getByRole("button", { name: "Remove bookmark" }).waitFor();
  await page.keyboard.press("Enter");
  await bookmark.and(page.locator(":focus")).waitFor();
});

test.runIf(hasBrowser)("a restarted run is linked, and names the run it came from", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.28").click();
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("button", { name: "Start it" }).click();
  const started = page.getByText("Started").getByRole("link");
  const name = await started.innerText();
  expect(await focusIn(page)).toBe("Restart");
  await started.click();

  await page.getByRole("heading", { name }).waitFor();
  await row(name).waitFor();
  expect(new URL(page.url()).hash).toBe(`#list=ada.mnist&run=${name}`);
  await page.getByRole("definition").getByRole("link", { name: "ada.mnist.1.28" }).click();
  await page.getByRole("heading", { name: "ada.mnist.1.28" }).waitFor();
});

test.runIf(hasBrowser)("what the service does not allow is said beside the button", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, address, row } = await open(url);
  await page.goto(`${address}#list=ada.mnist.1`);
  await signIn(page, "linus");
  await row("ada.mnist.1.28").click();
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("button", { name: "Start it" }).click();
  await page.getByRole("alert").waitFor();
  expect(await alertOf(page)).toBe("You are not allowed to do this. FORBIDDEN");
});

/** What is read aloud until something was saved. */
const SAID = `new Promise((resolve) => {
  const SAYING = ".downloads [role=status]";
  const said = [];
  const observer = new MutationObserver((changes) => {
    for (const { target } of changes) {
      const region = target.parentElement?.closest(SAYING) ?? target.closest?.(SAYING);
      if (region?.textContent) said.push(region.textContent);
    }
    if (!said.at(-1)?.startsWith("Saved")) return;
    observer.disconnect();
    resolve([...new Set(said)]);
  });
  observer.observe(document.body, { childList: true, characterData: true, subtree: true });
})`;

test.runIf(hasBrowser)("outputs and logs are saved as the service has them", async () => {
  const now = Date.now();
  const { url, demo } = await startDemoGateway({ env, now: () => now });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.28").click();
  const authorization = `token ${demo.users[0]?.token}`;
  for (const { button, name, path } of [
    { button: "Download outputs", name: "ada.mnist.1.28.tar.gz", path: "outputs/download" },
    { button: "Download log", name: "ada.mnist.1.28.log", path: "logs" },
  ]) {
    const saving = page.waitForEvent("download");
    const said = page.evaluate<string[]>(SAID);
    await page.getByRole("button", { name: button }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(name);
    await page.getByText(`Saved ${name}`).waitFor();
    // Not each piece that comes.
    expect(await said).toEqual(["Loading", expect.stringContaining(`Saved ${name}`)]);
    const address = `${demo.url}/api/v1/ada/mnist/experiments/28/${path}`;
    const response = await fetch(address, { headers: { authorization } });
    expect(await readFile(await saved.path())).toEqual(Buffer.from(await response.arrayBuffer()));
  }
});

test.runIf(hasBrowser)("a download that breaks off saves nothing, and can be tried again", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.28").click();
  await page.route("**/downloads/**", (route) => route.abort());
  await page.getByRole("button", { name: "Download outputs" }).click();
  await page.getByRole("alert").waitFor();
  expect(await alertOf(page)).toMatch(/^The gateway cannot be reached\. NO_ANSWER/);

  await page.unroute("**/downloads/**");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Try again" }).click();
  expect((await saving).suggestedFilename()).toBe("ada.mnist.1.28.tar.gz");
  expect(await page.getByRole("alert").count()).toBe(0);
});
