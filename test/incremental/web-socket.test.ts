import { expect, test, vi } from "vitest";
import { clientOf } from "../live/socket-client.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { DEFERRED, PIECES, startBuilt } from "./build-of-a-run.ts";

/** A gateway in front of a service, and a client of graphql-ws. */
async function connect(upstream: { readonly url: string }, env: Record<string, string> = {}) {
  const gateway = await startGateway({ upstream, env });
  const client = clientOf(gateway.url, { authorization: "token t0ken" });
  return { client, gateway };
}

test("a query over a WebSocket can be delivered incrementally", async () => {
  const { client, gateway } = await connect(await startBuilt());
  const payloads: unknown[] = [];
  for await (const payload of client.iterate({ query: DEFERRED })) payloads.push(payload);
  expect(payloads).toEqual(PIECES);
  const whole = await client.iterate({ query: "{ __typename }" }).next();
  expect(whole).toEqual({ done: false, value: { data: { __typename: "Query" } } });
  await vi.waitUntil(() => gateway.logged().includes('"upstreamRequests":2'), LONG_TIMEOUT);
});

test.each(["completes it", "closes its connection"])(
  "an operation releases its permit and requests if its client %s early",
  async (what) => {
    let open = 0;
    const url = await listen((_, response) => {
      open++;
      response.once("close", () => open--);
    });
    const { client, gateway } = await connect({ url }, { MAX_OPERATIONS_PER_TOKEN: "1" });
    const end = client.subscribe(
      { query: DEFERRED },
      { next: () => {}, error: () => {}, complete: () => {} },
    );
    await vi.waitUntil(() => open === 1, LONG_TIMEOUT);
    if (what === "completes it") end();
    else await client.terminate();
    await vi.waitUntil(() => open === 0, LONG_TIMEOUT);
    const { errors } = await gateway.ask("{ __typename }");
    expect(errors).toBeUndefined();
  },
);
