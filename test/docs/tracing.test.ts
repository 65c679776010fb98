import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { startFake, pathIn } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { globalId } from "../support/ids.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";

/** A span as OTLP/HTTP sends it in JSON, with the fields that this test reads. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}
interface Sent {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

/** Kinds by their numbers in OTLP. */
const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT"];

/** A span of the caller, with a separate trace for each request. */
const CALLER = "00f067aa0ba902b7";

const [USERS, JOB] = ["GET users/", "GET {owner}/{project}/jobs/{id}/"];
const BUILD = "GET {owner}/{project}/builds/{id}/";
const LOGS = "GET {owner}/{project}/jobs/{id}/logs";
const LOG_ID = globalId("Job:ada/mnist/3");
/** The id of a log that the caller does not read to its end. */
const ENDLESS_ID = globalId("Job:ada/mnist/5");

/**
 * Starts the gateway as a process that first loads this file of OpenTelemetry, the collector that receives its spans, and a service with
 * one user, one job with a log, and no builds.
 */
async function startTraced(file: string) {
  const records: Readonly<Record<string, unknown>> = {
    "users/": { username: "ada", is_superuser: false },
    "ada/mnist/jobs/3/": { id: 3, unique_name: "ada.mnist.jobs.3", last_status: "running" },
    "ada/mnist/jobs/3/logs": "step 1",
  };
  const service = await startFake(({ path }) => {
    // This log has no end.
    if (path.endsWith("jobs/5/logs")) return (response) => response.write("step 1");
    const record = records[pathIn(path)];
    return record === undefined ? undefined : { json: record };
  });
  const collector = await startFake(() => ({ json: {} }));
  const gateway = await startGatewayProcess(service.url, {
    NODE_OPTIONS: `--import ./${file}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "1",
  });
  onTestFinished(() => gateway.kill());
  const spansOf = (traceId: string) =>
    collector
      .seen()
      // Safe: an exporter of OTLP sends nothing else.
      .flatMap(({ body }) => (JSON.parse(body) as Sent).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      .filter((span) => span.traceId === traceId);
  const get = async (path: string, options: RequestInit = {}) => {
    const traceId = randomBytes(16).toString("hex");
    const headers = {
      authorization: "token canary-token",
      "content-type": "application/json",
      traceparent: `00-${traceId}-${CALLER}-01`,
    };
    const response = await fetch(gateway.url + path, { ...options, headers });
    if (path.includes(ENDLESS_ID)) await response.body?.cancel();
    else await response.text();
    // Waits until the parents of all spans have arrived.
    await vi.waitUntil(() => {
      const known = new Set([CALLER, ...spansOf(traceId).map(({ spanId }) => spanId)]);
      const parents = spansOf(traceId).map(({ parentSpanId }) => parentSpanId);
      return parents.includes(CALLER) && parents.every((parent) => known.has(parent));
    }, LONG_TIMEOUT);
    const spans = spansOf(traceId);
    return {
      spans,
      /** The trace context of the upstream requests. */
      sent: service
        .seen()
        .map(({ headers: { traceparent } }) => `${traceparent}`)
        .filter((traceparent) => traceparent.includes(traceId))
        .toSorted(),
      sentBy: (each: readonly { readonly spanId: string }[]) =>
        each.map(({ spanId }) => `00-${traceId}-${spanId}-01`).toSorted(),
      /** The only span of a kind and name. */
      only: (kind: string, name: string) => {
        const [span, ...others] = spans.filter((each) => KINDS[each.kind] === kind && each.name === name);
        if (!span || others.length > 0) throw new Error(`one ${kind} ${name} in ${JSON.stringify(spans)}`);
        const { spanId, parentSpanId, status, attributes } = span;
        const pairs = attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
        return { spanId, parentSpanId, isError: status.code === 2, attributes: Object.fromEntries(pairs) };
      },
    };
  };
  const ask = (query: string) => get("/graphql", { method: "POST", body: JSON.stringify({ query }) });
  return { service, get, ask, exported: () => JSON.stringify(collector.seen()) };
}

test("with HTTP instrumentation, a caller's trace continues through the gateway to upstream", async () => {
  const { ask, get } = await startTraced("test/support/instrumented.mjs");
  const page = await ask(`query Page {
    viewer { isSuperuser } job(id: "ada.mnist.jobs.3") { status logs { text } } buildJob(id: "ada.mnist.builds.4") { status }
  }`);
  const server = page.only("SERVER", "POST");
  const operation = page.only("INTERNAL", "query");
  const upstream = [USERS, LOGS, JOB, BUILD].map((name) => page.only("CLIENT", name));
  expect(page.spans).toHaveLength(6);
  expect(server.parentSpanId).toBe(CALLER);
  expect(operation).toMatchObject({ parentSpanId: server.spanId, isError: true });
  // The comparison is exact, because a second value in the header would follow a comma.
  expect(page.sent).toEqual(page.sentBy(upstream));
  expect(upstream).toEqual(
    [USERS, LOGS, JOB, BUILD].map((name) => ({
      spanId: expect.any(String),
      parentSpanId: operation.spanId,
      isError: name === BUILD,
      attributes: {
        "http.request.method": "GET",
        "url.template": name.slice("GET ".length),
        "http.response.status_code": name === BUILD ? 404 : 200,
        ...(name === BUILD && { "error.type": "404" }),
      },
    })),
  );

  const file = await get(`/downloads/${LOG_ID}/logs`);
  const download = file.only("INTERNAL", "GET /downloads/{id}/logs");
  const opened = file.only("CLIENT", LOGS);
  expect(file.spans).toHaveLength(3);
  expect(file.only("SERVER", "GET").parentSpanId).toBe(CALLER);
  expect(download.parentSpanId).toBe(file.only("SERVER", "GET").spanId);
  expect(opened.parentSpanId).toBe(download.spanId);
  expect(file.sent).toEqual(file.sentBy([opened]));
});

test("the sample records operations and downloads as child spans without secrets", async () => {
  const { service, ask, get, exported } = await startTraced("docs/tracing.mjs");
  for (const [sent, name, isError, attributes] of [
    [ask("query Me { viewer { isSuperuser } }"), "query", false, { "graphql.operation.name": "Me" }],
    [ask(`{ job(id: "ada.mnist.jobs.4") { status } }`), "query", true, { "error.type": "NOT_FOUND" }],
    [ask("{ canary }"), "GraphQL Operation", true, { "error.type": "GRAPHQL_VALIDATION_FAILED" }],
    [get(`/downloads/${LOG_ID}/logs?x=canary`), "GET /downloads/{id}/logs", false, {}],
    [get(`/downloads/${ENDLESS_ID}/logs`), "GET /downloads/{id}/logs", false, {}],
    [get(`/downloads/${globalId("Group:ada/mnist/3")}/logs`), "GET /downloads/{id}/logs", true, {}],
  ] as const)
    expect((await sent).only("SERVER", name)).toMatchObject({ parentSpanId: CALLER, isError, attributes });
  const hidden = `{ job(id: "canary.mnist.jobs.3") { id logs { text } } }`;
  await get(`/graphql?query=${encodeURIComponent(hidden)}`);
  for (const secret of ["canary", "mnist", LOG_ID, `:${new URL(service.url).port}`, "step 1"])
    expect(exported()).not.toContain(secret);
});
