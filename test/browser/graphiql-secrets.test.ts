import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, reportMissingBrowser, SHOWN } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { click, menuOf, reload, run, shareGraphiql, shownIn, storesOf, tabOf, WIDE } from "./graphiql.ts";

reportMissingBrowser("the tests of secrets in the GraphiQL page");

const open = shareGraphiql();

const DEMO_PASSWORD = "ada-demo";

/** Operations that take the password, each with its variables. */
const SIGN_INS = {
  "a literal": [
    `mutation Enter { a: login(input: { username: "ada", password: "${DEMO_PASSWORD}" }) { user { username } } }`,
  ],
  "a literal without quotes": [
    `mutation Enter { login(input: { username: "ada", password: ${DEMO_PASSWORD} }) { token } }`,
  ],
  "a string of several lines": [
    `mutation Enter { login(input: { username: "ada", password: """${DEMO_PASSWORD}""" }) { token } }`,
  ],
  "a variable": [
    "mutation Enter($input: LoginInput!) { login(input: $input) { user { username } } }",
    JSON.stringify({ input: { username: "ada", password: DEMO_PASSWORD } }),
  ],
  "a variable in invalid JSON": [
    "mutation Enter($input: LoginInput!) { login(input: $input) { token } }",
    `{ "input": { "password": "${DEMO_PASSWORD}"`,
  ],
} as const;

const queryIn = (page: Page) =>
  page.evaluate<string>(
    `monaco.editor.getModels().find(({ uri }) => uri.path.endsWith("operation.graphql")).getValue()`,
  );

describe.runIf(hasBrowser)("GraphiQL", () => {
  test.each(Object.entries(SIGN_INS))(
    "neither keeps nor shares a password that is %s",
    async (_, [query, variables = ""]) => {
      const { url } = await startDemoGateway();
      const { page } = await open(
        `${url}/graphql#${new URLSearchParams({ query, variables })}`,
        WIDE,
        "Enter",
      );
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await run(page);
      await expect.poll(() => shownIn(page), SHOWN).toMatch(/"(?:username|token|errors)"/);
      const menu = menuOf(page, "Share");
      for (const label of ["Copy link", "Copy as cURL", "Copy as JavaScript", "Copy as Python"]) {
        if ((await menu.getAttribute("open")) === null) await click(page, menu.locator("summary"));
        await page.evaluate(`navigator.clipboard.writeText("")`);
        await click(page, menu.getByRole("button", { name: label }));
        await menu.getByText("Copied without its texts, because one of them is a secret.").waitFor();
        const read = () => page.evaluate<string>(`navigator.clipboard.readText()`);
        await expect.poll(read, SHOWN).toContain("login");
        expect(await read()).not.toContain(DEMO_PASSWORD);
      }
      await page.keyboard.press("Escape");
      const operations = menuOf(page, "Operations");
      await click(page, operations.locator("summary"));
      expect(await operations.getByRole("heading").allTextContents()).not.toContain("Sent last");
      await page.keyboard.press("Escape");
      await reload(page, "Enter");
      expect(await queryIn(page)).toContain("login(input:");
      const { local, session } = await storesOf(page);
      expect(local).toContain("login(input:");
      expect(local + session).not.toContain(DEMO_PASSWORD);
    },
  );

  test("stores operations that take no secret", async () => {
    const { url } = await startDemoGateway();
    const query = `query Seen { experiment(id: "ada.mnist.42") { uniqueName } } # login later`;
    const { page } = await open(`${url}/graphql#${new URLSearchParams({ query })}`, WIDE, "Seen");
    await run(page);
    await reload(page, "Seen");
    await tabOf(page, "Seen").waitFor();
    expect(await queryIn(page)).toBe(query);
    expect((await storesOf(page)).local).toContain("recent");
  });
});
