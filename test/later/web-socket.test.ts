import { createClient } from "graphql-ws";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { PATIENT } from "../support/patience.ts";

const QUERY = `{ experiment(id: "ada.mnist.3") { status ... @defer { buildJob { description } } } }`;

/** A gateway before a service, and a client of graphql-ws. */
async function connect(upstream: { readonly url: string }, env: Record<string, string> = {}) {
  const gateway = await startGateway({ upstream, env });
  const client = createClient({
    url: `${gateway.url.replace("http:", "ws:")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: "token t0ken" },
    retryAttempts: 0,
  });
  onTestFinished(() => void client.dispose());
  return { client, gateway };
}

async function start() {
  const upstream = await startFake(({ path }) =>
    path.includes("experiments")
      ? { json: { id: 3, last_status: "running", build_job: "ada.mnist.builds.7" } }
      : { json: { id: 7, description: "A build." } },
  );
  return { ...(await connect(upstream)), calls: upstream.inOrder };
}

test("a query over a WebSocket may come in pieces", async () => {
  const { client, gateway } = await start();
  const pieces: unknown[] = [];
  for await (const piece of client.iterate({ query: QUERY })) pieces.push(piece);
  expect(pieces).toEqual([
    {
      data: { experiment: { status: "RUNNING" } },
      pending: [{ id: "0", path: ["experiment"] }],
      hasNext: true,
    },
    {
      incremental: [{ id: "0", data: { buildJob: { description: "A build." } } }],
      completed: [{ id: "0" }],
      hasNext: false,
    },
  ]);
  await vi.waitUntil(() => gateway.logged().includes('"upstreamRequests":2'), PATIENT);
});

test.each(["completes it", "closes its connection"])(
  "a client that %s before the first piece frees its place, and its requests end",
  async (what) => {
    let open = 0;
    const url = await listen((_, response) => {
      open++;
      response.once("close", () => open--);
    });
    const { client, gateway } = await connect({ url }, { MAX_OPERATIONS_PER_TOKEN: "1" });
    const end = client.subscribe({ query: QUERY }, { next: () => {}, error: () => {}, complete: () => {} });
    await vi.waitUntil(() => open === 1, PATIENT);
    if (what === "completes it") end();
    else await client.terminate();
    await vi.waitUntil(() => open === 0, PATIENT);
    const { errors } = await gateway.ask("{ __typename }");
    expect(errors).toBeUndefined();
  },
);

test("a mutation does not come over a WebSocket", async () => {
  const { client, calls } = await start();
  const query = `mutation { stopExperiment(id: "ada.mnist.3", force: true) { isSent ... @defer { __typename } } }`;
  await expect(client.iterate({ query }).next()).rejects.toMatchObject([
    { extensions: { code: "BAD_REQUEST" } },
  ]);
  expect(calls()).toEqual([]);
});
