import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { columnOf, expectSoon, linesOf, openAt, rowOf, signIn } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

test.runIf(hasBrowser).each([
  { what: "a column that the page sorts", click: "status", first: "failed", isRead: false },
  { what: "a column that the service sorts", click: "loss", first: "0.1055", isRead: true },
])("if the gateway is unreachable, a click on $what keeps the rows", async ({ click, first, isRead }) => {
  const { page, pollUntil, breakConnections } = await openAt(GROUP);
  await pollUntil(page.getByText("live", { exact: true }));
  const before = await linesOf(page);
  await page.route("**/graphql", (route) => route.abort());
  breakConnections();
  await page.getByRole("columnheader").getByRole("link", { name: click }).click();
  if (isRead) await page.getByRole("alert").getByText("The gateway cannot be reached.").waitFor();
  // All runs are loaded, so the page sorts them immediately.
  else await expectSoon(async () => (await columnOf(page, click))[0]).not.toBe(before[0]?.[1]);
  expect((await linesOf(page)).length).toBe(before.length);
  // When the gateway is back, the stream opens by itself, and then everything else is read.
  await page.unroute("**/graphql");
  await pollUntil(page.getByText("live", { exact: true }));
  await expect.poll(() => page.getByRole("alert").filter({ hasText: /./ }).count(), SHOWN).toBe(0);
  await expectSoon(async () => (await columnOf(page, click))[0]).toBe(first);
});

test.runIf(hasBrowser)("if the gateway is unreachable, sorting keeps the loaded runs", async () => {
  const { page, ask, pollUntil, breakConnections } = await openAt("#list=ada.mnist");
  const runs = Array.from(
    { length: 20 },
    (_, at) => `run${at}: restartExperiment(id: $id) { experiment { id } }`,
  );
  const more = `mutation ($id: ID!) { ${runs.join(" ")} }`;
  for (let times = 0; times < 6; times += 1) await ask(more, { id: "ada.speech.36" });
  await page.evaluate(`location.hash = "#list=ada.speech"`);
  await page.getByText("100 of 125 runs are loaded.").waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  await page.route("**/graphql", (route) => route.abort());
  breakConnections();
  await page.getByRole("columnheader").getByRole("link", { name: "status" }).click();
  await page.getByRole("alert").getByText("The gateway cannot be reached.").waitFor();
  await page.getByText("100 of 125 runs are loaded.").waitFor();
  await page.unroute("**/graphql");
  await pollUntil(page.getByText("125 runs.", { exact: true }));
  await expect.poll(() => page.getByRole("alert").filter({ hasText: /./ }).count(), SHOWN).toBe(0);
});

test.runIf(hasBrowser)("failed reads are repeated when the stream reconnects", async () => {
  const { page, pollUntil, breakConnections } = await openAt(GROUP);
  await pollUntil(page.getByText("live", { exact: true }));
  await page.route("**/graphql", (route) => route.abort());
  breakConnections();
  await page.getByRole("link", { name: "ada.mnist.1.28" }).click();
  const run = page.getByRole("region", { name: "ada.mnist.1.28" });
  await run.getByText("The gateway cannot be reached.").waitFor();
  await page.getByLabel("Group by").selectOption("user");
  await page.unroute("**/graphql");
  await pollUntil(run.getByRole("heading", { name: "ada.mnist.1.28 succeeded" }));
  await expect.poll(() => page.getByRole("alert").filter({ hasText: /./ }).count(), SHOWN).toBe(0);
});

test.runIf(hasBrowser)("the sign-in page appears when the session ends, even without a click", async () => {
  const { page, ask, pollUntil } = await openAt(GROUP, { user: "grace" });
  const ended = page.getByText("Your session has ended.");
  const remove = (user: string) => ask(`mutation { deleteUser(username: "${user}") { deletedId } }`);
  await rowOf(page, "ada.mnist.1.46").waitFor();
  await remove("grace");
  await rowOf(page, "ada.mnist.1.46").click();
  await ended.waitFor();
  await signIn(page, "linus");
  await page.getByText("live", { exact: true }).or(page.getByText("connecting…")).first().waitFor();
  await remove("linus");
  await pollUntil(ended);
  expect(await page.getByRole("table").count()).toBe(0);
});

test.runIf(hasBrowser).each([
  { hash: "#list=ada.mnist.99", says: "There is no such record. NOT_FOUND" },
  {
    hash: "#list=..%2F",
    says: "The address of this page or one of the fields is not valid. BAD_USER_INPUT",
  },
  { hash: "#list=ada.mnist&run=ada.mnist.9999", says: "There is no such record. NOT_FOUND" },
])("the address $hash shows a readable error", async ({ hash, says }) => {
  const { page } = await openAt(hash);
  await page.getByRole("alert").filter({ hasText: says }).first().waitFor();
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
});

test.runIf(hasBrowser)("without the capability LISTS, the page shows an error and no filter", async () => {
  const { page } = await openAt(GROUP, { profile: "document" });
  await page.getByText("Which learning rate, which dropout, which activation?").waitFor();
  await page.getByRole("alert").getByText("CAPABILITY_UNAVAILABLE").waitFor();
  expect(await page.getByRole("search").count()).toBe(0);
});
