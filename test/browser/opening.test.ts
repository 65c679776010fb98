import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import {
  answerOf,
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
  "GraphiQL opens without internet, and answers after one click: %o",
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
    // The editor draws its lines anew as it measures them, so a line can be gone for a moment.
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
