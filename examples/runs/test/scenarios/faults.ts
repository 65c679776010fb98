import { expect, test } from "vitest";
import { startDemoGateway } from "../../../../test/support/demo-gateway.ts";
import { fakeClock } from "../../../../test/support/fake-clock.ts";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { openAt } from "../open-at.ts";
import { alertOf, focusIn, open, signIn } from "../page.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

test.runIf(hasBrowser)("an ended session returns to sign-in, after a click or automatically", async () => {
  // No poll is due while the clock stands.
  const { clock, advance } = fakeClock();
  const { url, ask } = await startDemoGateway({ env, clock });
  const { page, row, address } = await open(url);
  const remove = (username: string) => ask(`mutation { deleteUser(username: "${username}") { deletedId } }`);
  const ended = page.getByText("Your session has ended.");

  await page.goto(`${address}#list=ada.mnist.1`);
  await signIn(page, "grace");
  await row("ada.mnist.1.46").waitFor();
  await remove("grace");
  await row("ada.mnist.1.46").click();
  await ended.waitFor();
  expect(await page.getByRole("table").count()).toBe(0);

  await signIn(page, "linus");
  await row("ada.mnist.1.46").waitFor();
  await remove("linus");
  while (!(await ended.isVisible())) advance(1_000);
  expect(await page.getByRole("table").count()).toBe(0);
});

test.runIf(hasBrowser)("without server lists, groups open by name and show a note", async () => {
  const { url } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "document" } });
  const { page, rows } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("alert").getByText("CAPABILITY_UNAVAILABLE").waitFor();
  await page.getByLabel("Another project or group").fill("ada.mnist.1");
  await page.getByRole("button", { name: "Open" }).click();

  await page.getByText("Which learning rate, which dropout, which activation?").waitFor();
  expect(await alertOf(page)).toMatch(/^Not everything could be read\. .* CAPABILITY_UNAVAILABLE$/);
  expect(await rows()).toEqual([]);
  expect(await page.getByRole("form", { name: "Filter" }).count()).toBe(0);
});

test.runIf(hasBrowser)("the page requests nothing that the server does not support", async () => {
  const { page, complaints } = await openAt("#run=ada.mnist.42", {}, "document");
  await page.getByRole("heading", { name: "ada.mnist.42" }).waitFor();
  const notes = page.getByRole("region", { name: "Notes" });
  await notes.getByRole("button", { name: "Edit" }).waitFor();
  expect(await notes.getByRole("textbox").count()).toBe(0);
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByText("It becomes a run of its own, with the same parameters.").waitFor();
  expect(await page.getByRole("dialog").getByRole("textbox").count()).toBe(0);
  await page.getByRole("button", { name: "Start it" }).click();
  await page.getByText("Started").getByRole("link").waitFor();
  await expect
    .poll(() => page.getByRole("alert").allInnerTexts(), SHOWN)
    .toEqual(["The server does not offer this. CAPABILITY_UNAVAILABLE"]);
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("a newer gateway's status and phase are shown like the others", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row, rows, graph } = await open(url);
  await page.route("**/graphql", async (route) => {
    // A stream cannot be read as a whole.
    if (route.request().postDataJSON().query.startsWith("subscription")) return route.abort();
    const response = await route.fetch();
    const told = (await response.text())
      .replaceAll('"RUNNING"', '"FAST_ASLEEP"')
      .replaceAll('"ACTIVE"', '"IDLE"');
    return route.fulfill({ response, body: told });
  });
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.44").click();
  await graph.waitFor();
  expect((await rows()).map(([name, status]) => `${name} ${status}`)).toContain("ada.mnist.1.44 fast asleep");
});

test.runIf(hasBrowser)("each part of the page reports an unreachable gateway and can retry", async () => {
  // What changes meanwhile would be read again, and fail as well.
  const now = Date.now();
  const { url } = await startDemoGateway({ env, now: () => now });
  const { page, row, graph } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("heading", { name: "Projects of ada" }).waitFor();

  const again = page.getByRole("button", { name: "Try again" });
  for (const [link, read] of [
    [page.getByRole("link", { name: "ada.mnist.1" }), row("ada.mnist.1.44")],
    [page.getByRole("button", { name: "Load more" }), row("ada.mnist.1.9")],
    [row("ada.mnist.1.44"), graph],
    [page.getByRole("link", { name: "Log" }), page.getByRole("log")],
  ] as const) {
    await page.route("**/graphql", (route) => route.abort());
    await link.click();
    await again.waitFor();
    expect(await alertOf(page)).toMatch(/^The gateway cannot be reached\. NO_ANSWER/);
    await page.unroute("**/graphql");
    await again.click();
    await read.waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await focusIn(page)).not.toBe("body");
  }
});

test.runIf(hasBrowser)("a missing record is reported and cannot be retried", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, address } = await open(url);
  await page.goto(`${address}#list=ada.mnist.99`);
  await signIn(page, "ada");
  await page.getByRole("alert").waitFor();
  expect(await alertOf(page)).toBe("There is no such record. NOT_FOUND");
});

test.runIf(hasBrowser)("an invalid page address is explained in user-facing words", async () => {
  const { page, address } = await openAt("#list=ada.mnist.1&status=RUNNING,NONSENSE");
  await page.getByRole("table").waitFor();
  expect(await alertOf(page)).toMatch(/^Not understood, and not filtered by: NONSENSE\./);
  await page.goto(`${address}#list=..%2F`);
  await page.getByText("BAD_USER_INPUT").waitFor();
  expect((await alertOf(page)).split("\n")[0]).toBe(
    "Something in the address of this page, or in a field, is not understood. BAD_USER_INPUT",
  );
});

test.runIf(hasBrowser)("empty group lists, metrics and logs each show a message", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByText("No groups.").waitFor();
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.46").click();
  await page.getByText("No metrics yet.").waitFor();
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByText("No log yet.").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});
