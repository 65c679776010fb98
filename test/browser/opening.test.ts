import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import {
  answerOf,
  click,
  isOnScreen,
  NARROW,
  openOperation,
  run,
  shareGraphiql,
  storesOf,
  WIDE,
} from "./graphiql.ts";

const open = shareGraphiql();

test.runIf(hasBrowser).each([WIDE, NARROW])(
  "GraphiQL opens without internet access and answers after one click: %o",
  async (viewport) => {
    const { url, demo } = await startDemoGateway();
    const { page, elsewhere, complaints } = await open(url, viewport);
    await run(page);
    const answer = answerOf(page);
    await answer.getByText('"ada.mnist.42"').first().waitFor();
    expect(await answer.textContent()).not.toContain('"errors"');

    await openOperation(page, "NestedRunGraph");
    await openOperation(page, "ExperimentPage");
    await run(page);
    // The editor redraws its lines as it measures them, so a line can be missing for a moment.
    await expect.poll(() => isOnScreen(answer.getByText("ada.mnist.42").first(), viewport), SHOWN).toBe(true);
    expect(await answer.textContent()).not.toContain('"errors"');
    expect((await answer.boundingBox())?.width).toBeGreaterThan(300);

    expect(elsewhere).toEqual([]);
    expect(complaints).toEqual([]);
    expect(page.url()).toBe(`${url}/graphql`);
    const { local, session } = await storesOf(page);
    for (const { token } of demo.users) expect(local + session).not.toContain(token);
  },
);

const ZOOMED = { width: 640, height: 400 };

test.runIf(hasBrowser).each([
  ["at a zoom of 200 %", ZOOMED],
  ["on a phone", NARROW],
  ["on a phone in landscape", { width: 844, height: 390 }],
  ["in a low window", { width: 1280, height: 500 }],
])("parts of GraphiQL do not overlap %s", async (_, viewport) => {
  const { url } = await startDemoGateway();
  const { page } = await open(url, viewport);
  await run(page);
  await answerOf(page).getByText('"ada.mnist.42"').first().waitFor();
  const begin = answerOf(page).getByText('"data"').first();
  await expect.poll(() => isOnScreen(begin, viewport), SHOWN).toBe(true);
  const parts = [".graphiql-query-editor", ".graphiql-editor-tools", ".graphiql-editor-tool"].map((part) =>
    page.locator(part).first(),
  );
  const answer = page
    .locator(".graphiql-response > .result-window, .graphiql-response .monaco-editor")
    .first();
  const waterfall = page.getByRole("region", { name: "Upstream requests" });
  const boxes = await Promise.all([...parts, answer, waterfall].map((part) => part.boundingBox()));
  for (const [at, one] of boxes.entries())
    for (const other of boxes.slice(at + 1)) {
      if (!one || !other || one.height === 0 || other.height === 0) continue;
      const isApart =
        one.x + one.width <= other.x + 1 ||
        other.x + other.width <= one.x + 1 ||
        one.y + one.height <= other.y + 1 ||
        other.y + other.height <= one.y + 1;
      expect([one, other, isApart]).toEqual([one, other, true]);
    }
  // The wheel scrolls to the end, even over the bar, which stays in place.
  await page.mouse.move(viewport.width / 2, 20);
  await page.mouse.wheel(0, 1_000);
  await expect.poll(() => isOnScreen(waterfall, viewport), SHOWN).toBe(true);
  expect((await page.locator("header").boundingBox())?.y).toBe(0);
});

test.runIf(hasBrowser)("GraphiQL's documentation lists fields in alphabetical order", async () => {
  const { url } = await startDemoGateway();
  const { page } = await open(url);
  await click(page, page.getByRole("button", { name: "Show Documentation Explorer" }));
  await click(page, page.locator(".graphiql-plugin a", { hasText: /^Query$/ }));
  const fields = page.locator(".graphiql-doc-explorer-field-name");
  await fields.first().waitFor();
  const shown = await fields.allTextContents();
  expect(shown.length).toBeGreaterThan(10);
  expect(shown).toEqual(shown.toSorted((one, other) => one.localeCompare(other)));
});
