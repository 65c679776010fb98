import { expect, test } from "vitest";
import { experimentId, FIRST_POLL, RUN_UPDATED, startLive, update } from "../support/live-service.ts";

const ACCEPT = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json";

const send = (url: string, query: string) =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t", accept: ACCEPT },
    body: JSON.stringify({ query, variables: { id: experimentId(1) } }),
  });

/** Reads the JSON of parts as they come. */
function partsOf(response: Response): () => Promise<unknown> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return async () => {
    for (;;) {
      const [found, json = ""] = /^(?:\r\n)?---\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n(?=---)/s.exec(text) ?? [];
      if (found) {
        text = text.slice(found.length);
        return JSON.parse(json) as unknown;
      }
      const { value, done } = (await reader?.read()) ?? { done: true };
      if (done) return null;
      text += value;
    }
  };
}

test("sends each event as a part, and empty parts between events", async () => {
  const { url, advance, reach } = await startLive([{ id: 1, last_status: "running" }]);
  const response = await send(url, RUN_UPDATED);
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^multipart\/mixed; ?boundary="-";subscriptionSpec=1\.0$/),
  ]);
  expect(response.headers.get("cache-control")).toContain("no-transform");
  const next = partsOf(response);
  advance(FIRST_POLL);
  expect(await next()).toEqual({ payload: update(1, "RUNNING") });
  await reach(FIRST_POLL + 12_000);
  expect(await next()).toEqual({});
  await response.body?.cancel().catch(() => {});
});

test("returns JSON for a subscription that cannot be opened", async () => {
  const { url } = await startLive([{ id: 1, last_status: "running" }]);
  const response = await send(url, "subscription ($id: ID!) { runUpdated(id: $id) { none } }");
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(await response.json()).toMatchObject({
    errors: [{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }],
  });
});
