import { expect, onTestFinished, test } from "vitest";
import { type Seen, startFake } from "../support/fake.ts";
import { askAt } from "../support/gateway.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";

/** The trace of a caller. Each part of it contains the number. */
const traceOf = (caller: number) => ({
  traceId: caller.toString(16).padStart(32, "a"),
  spanId: caller.toString(16).padStart(16, "b"),
});

function onlyOne(all: readonly Seen[]): Seen {
  const [one, ...others] = all;
  if (!one || others.length > 0) throw new Error(`expected one request, got ${all.length}`);
  return one;
}

/** Starts a gateway as a process with an SDK and this propagator, in front of a service that has every record. */
async function startPropagating(propagator: string, env: Record<string, string> = {}) {
  const service = await startFake(({ path }) => {
    const id = Number(/\d+(?=\/$)/.exec(path)?.[0] ?? 1);
    return { json: { id, username: "ada", last_status: "running" } };
  });
  const gateway = await startGatewayProcess(service.url, {
    NODE_OPTIONS: "--import ./test/support/propagating.mjs",
    PROPAGATOR: propagator,
    ...env,
  });
  onTestFinished(() => gateway.kill());
  const url = `${gateway.url}/graphql`;
  return {
    service,
    ask: (query: string, headers: Record<string, string>, token = "t0ken") =>
      askAt(url, token, query, { headers }),
  };
}

test("sends the service everything that an SDK's propagator injects", async () => {
  const { service, ask } = await startPropagating("");
  const { traceId, spanId } = traceOf(1);
  await ask("{ viewer { username } }", {
    traceparent: `00-${traceId}-${spanId}-01`,
    tracestate: "vendor=one,other=two",
    baggage: "tenant=blue",
  });
  const headers = onlyOne(service.seen()).headers;
  expect(headers).toMatchObject({ tracestate: "vendor=one,other=two", baggage: "tenant=blue" });
  const own: unknown = expect.stringMatching(new RegExp(`^00-${traceId}-(?!${spanId})[\\da-f]{16}-01$`));
  expect(headers["traceparent"]).toEqual(own);
});

test("a propagator of another format replaces the caller's traceparent", async () => {
  const { service, ask } = await startPropagating("b3");
  const [{ traceId, spanId }, old] = [traceOf(1), traceOf(2)];
  await ask("{ viewer { username } }", {
    "x-b3-traceid": traceId,
    "x-b3-spanid": spanId,
    traceparent: `00-${old.traceId}-${old.spanId}-01`,
    tracestate: "vendor=one",
  });
  const headers = onlyOne(service.seen()).headers;
  const { traceparent, tracestate, ...others } = headers;
  expect({ traceparent, tracestate }).toEqual({});
  expect(others).toMatchObject({ "x-b3-traceid": traceId, "x-b3-sampled": "1" });
  expect(others["x-b3-spanid"]).not.toBe(spanId);
});

test("a propagator cannot overwrite headers of the gateway or its settings", async () => {
  const { service, ask } = await startPropagating("greedy", { UPSTREAM_HEADERS: `{"x-api-key": "key"}` });
  await ask("{ viewer { username } }", { "x-request-id": "caller-1" });
  const headers = onlyOne(service.seen()).headers;
  expect(headers).toEqual({
    accept: "application/json",
    authorization: "token t0ken",
    connection: "keep-alive",
    host: new URL(service.url).host,
    "user-agent": expect.any(String),
    "x-api-key": "key",
    "x-request-id": "caller-1",
    "x-trace": "kept",
  });
});

test("on shared connections, requests carry the trace and baggage of their caller", async () => {
  const { service, ask } = await startPropagating("", { UPSTREAM_CONNECTIONS: "1" });
  const callers = [...Array(8).keys()].map((index) => index + 1);
  const query = `{ viewer { username } ${[1, 2, 3, 4, 5].map((id) => `run${id}: job(id: "ada.mnist.jobs.${id}") { status buildJob { status } }`).join(" ")} }`;
  await Promise.all(
    callers.map((caller) => {
      const { traceId, spanId } = traceOf(caller);
      const headers = { traceparent: `00-${traceId}-${spanId}-01`, baggage: `caller=${caller}` };
      return ask(query, headers, `token-${caller}`);
    }),
  );
  const sent = service.seen().map(({ headers: { authorization, traceparent, baggage } }) => ({
    token: authorization,
    traceId: `${traceparent}`.split("-")[1],
    baggage,
  }));
  const own = callers.flatMap((caller) =>
    Array.from({ length: 6 }, () => ({
      token: `token token-${caller}`,
      traceId: traceOf(caller).traceId,
      baggage: `caller=${caller}`,
    })),
  );
  const inOrder = (each: readonly object[]) => each.map((one) => JSON.stringify(one)).toSorted();
  expect(inOrder(sent)).toEqual(inOrder(own));
});
