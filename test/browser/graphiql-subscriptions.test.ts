import { describe, expect, test, vi } from "vitest";
import { hasBrowser, SHOWN, reportMissingBrowser } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { answerOf, click, openOperation, run, shareGraphiql, shownIn, WIDE } from "./graphiql.ts";

reportMissingBrowser("the tests of subscriptions in the GraphiQL page");

const open = shareGraphiql();

describe.runIf(hasBrowser)("GraphiQL", () => {
  test("shows a run as it changes, until the subscription is stopped", async () => {
    const record = { id: 42, username: "ada", unique_name: "ada.mnist.42", last_status: "running" };
    const service = await startFake(() => ({ json: record }));
    const { clock, advance, reach, timers } = fakeClock();
    const { url } = await startGateway({ upstream: service, exampleToken: "t0ken", clock });
    const { page, complaints } = await open(url);
    await openOperation(page, "LiveStatus");
    await run(page);
    await vi.waitUntil(() => timers().includes(FIRST_POLL), LONG_TIMEOUT);
    advance(FIRST_POLL);
    await answerOf(page).getByText('"RUNNING"').waitFor();
    record.last_status = "stopping";
    await reach(1_000);
    await answerOf(page).getByText('"STOPPING"').waitFor();
    // Earlier events are below. The editor renders the lines of an event one after the other.
    const lowestOf = async (text: string) => {
      const boxes = (await answerOf(page).getByText(text).all()).map((line) => line.boundingBox());
      return Math.max(...(await Promise.all(boxes)).map((box) => box?.y ?? 0));
    };
    const isBelow = async () => (await lowestOf('"RUNNING"')) > (await lowestOf('"STOPPING"'));
    await expect.poll(isBelow, SHOWN).toBe(true);
    await expect.poll(() => answerOf(page).textContent(), SHOWN).toMatch(/"at":\s*"\d\d:\d\d:\d\d\.\d{3}"/);
    await click(page, page.getByRole("button", { name: /stop query/i }));
    await vi.waitUntil(() => !timers().includes(2_000), LONG_TIMEOUT);
    expect(complaints).toEqual([]);
  });

  test("shows that the gateway has ended a subscription, even without events", async () => {
    const { url } = await startDemoGateway();
    const finished = `subscription Finished { experimentMetricRecorded(id: "ada.mnist.1.10") { id } }`;
    const link = `${url}/graphql#${new URLSearchParams({ query: finished })}`;
    const { page, complaints } = await open(link, WIDE, "Finished");
    await run(page);
    await answerOf(page).getByText('"endedAt"').waitFor();
    await page.getByRole("button", { name: /execute query/i }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("merges incremental payloads, and shows all their upstream requests", async () => {
    const { url } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const query = `query Pieces {
      experiment(id: "ada.mnist.42") {
        uniqueName
        ... @defer { jobs { nodes { uniqueName ... @defer { role } } } }
      }
      group(id: "ada.mnist.1") { experiments(first: 3) { nodes @stream(initialCount: 1) { uniqueName } } }
    }`;
    const { page, complaints } = await open(
      `${url}/graphql#${new URLSearchParams({ query })}`,
      WIDE,
      "Pieces",
    );
    await run(page);
    await expect.poll(() => shownIn(page), SHOWN).toContain('"role": "master"');
    await page.getByText(/^3 requests · /).waitFor();
    const experiment = {
      uniqueName: "ada.mnist.42",
      jobs: { nodes: expect.arrayContaining([expect.objectContaining({ role: "master" })]) },
    };
    const nodes = Array.from({ length: 3 }, () => ({ uniqueName: expect.any(String) }));
    await expect
      .poll(async () => JSON.parse(await shownIn(page)), SHOWN)
      .toEqual({ data: { experiment, group: { experiments: { nodes } } } });
    expect(complaints).toEqual([]);
  });

  test("reports an unreachable gateway and the end of a stream", async () => {
    const { url } = await startDemoGateway();
    const { page } = await open(url);
    await page.context().setOffline(true);
    await run(page);
    await expect.poll(() => shownIn(page), SHOWN).toContain("The gateway cannot be reached");
    expect(await shownIn(page)).not.toContain("stack");
    await page.context().setOffline(false);
    await run(page);
    await expect.poll(() => shownIn(page), SHOWN).toContain('"ada.mnist.42"');

    const cut = `data: {"data": {"runUpdated": {"reason": "CHANGED"}}}\n\n`;
    await page.route("**/graphql", (route) =>
      route.fulfill({ headers: { "content-type": "text/event-stream" }, body: cut }),
    );
    await openOperation(page, "LiveStatus");
    await run(page);
    await expect.poll(() => shownIn(page), SHOWN).toMatch(/"endedAt"[^]*"reason"/);
  });
});
