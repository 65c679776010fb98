import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { startFake, startRecords } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { globalId } from "../support/ids.ts";
import { PATIENT } from "../support/patience.ts";

/** A span as OTLP/HTTP sends it as JSON, as far as it is read here. */
interface Sent {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** Kinds by their numbers in OTLP. */
const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT"];

const read = ({ name, kind, spanId, parentSpanId, status, attributes }: Sent) => ({
  name,
  kind: KINDS[kind],
  spanId,
  parentSpanId,
  isError: status.code === 2,
  attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
});

type Span = ReturnType<typeof read>;

/** A span of the caller's, with a trace of its own for each request. */
const CALLER = "00f067aa0ba902b7";

/** The gateway as a process that loads this file of OpenTelemetry first, and a collector that it sends to. */
async function startTraced(upstream: { readonly url: string }, file: string) {
  const collector = await startFake(() => ({ json: {} }));
  const gateway = await startGatewayProcess(upstream.url, {
    NODE_OPTIONS: `--import ./${file}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "1",
  });
  onTestFinished(() => gateway.kill());
  const spansOf = (traceId: string): Span[] =>
    collector
      .seen()
      // Safe: an exporter of OTLP sends nothing else.
      .flatMap(
        ({ body }) =>
          (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Sent[] }[] }[] }).resourceSpans,
      )
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      .flatMap((span) => (span.traceId === traceId ? [read(span)] : []));
  /** Whether no span's parent is missing. */
  const isWhole = (spans: readonly Span[]) => {
    const known = new Set<string | undefined>([CALLER, ...spans.map(({ spanId }) => spanId)]);
    const parents = spans.map(({ parentSpanId }) => parentSpanId);
    return parents.includes(CALLER) && parents.every((parent) => known.has(parent));
  };
  const get = async (path: string, options: RequestInit = {}) => {
    const traceId = randomBytes(16).toString("hex");
    const headers = {
      authorization: "token canary-token",
      "content-type": "application/json",
      traceparent: `00-${traceId}-${CALLER}-01`,
    };
    await (await fetch(gateway.url + path, { ...options, headers })).text();
    await vi.waitUntil(() => isWhole(spansOf(traceId)), PATIENT);
    return { traceId, caller: CALLER, spans: spansOf(traceId) };
  };
  return {
    get,
    ask: (query: string) => get("/graphql", { method: "POST", body: JSON.stringify({ query }) }),
    exported: () => JSON.stringify(collector.seen()),
  };
}

const SAMPLE = "docs/tracing.mjs";
const INSTRUMENTED = "test/support/instrumented.mjs";

/** A service with one user, one job with a log, and no builds. */
const startService = () =>
  startRecords({
    "users/": { username: "ada", is_superuser: false },
    "ada/mnist/jobs/3/": { id: 3, unique_name: "ada.mnist.jobs.3", last_status: "running" },
    "ada/mnist/jobs/3/logs": "step 1",
  });

/** The one span of a kind and name. */
function only({ spans }: { readonly spans: readonly Span[] }, kind: string, name: string): Span {
  const [span, ...others] = spans.filter((each) => each.kind === kind && each.name === name);
  if (!span || others.length > 0) throw new Error(`expected one ${kind} ${name} in ${JSON.stringify(spans)}`);
  return span;
}

const USERS = "GET users/";
const JOB = "GET {owner}/{project}/jobs/{id}/";
const BUILD = "GET {owner}/{project}/builds/{id}/";
const LOGS = "GET {owner}/{project}/jobs/{id}/logs";
const LOG_ID = globalId("Job:ada/mnist/3");

test("with instrumentations of HTTP as well, a caller's trace leads through the gateway to the service", async () => {
  const service = await startService();
  const { ask, get } = await startTraced(service, INSTRUMENTED);
  const sentFor = (traceId: string) =>
    service
      .seen()
      .map(({ headers }) => `${headers["traceparent"]}`)
      .filter((traceparent) => traceparent.includes(traceId))
      .toSorted();

  const page = await ask(`query Page {
    viewer { isSuperuser } job(id: "ada.mnist.jobs.3") { status logs { text } } buildJob(id: "ada.mnist.builds.4") { status }
  }`);
  const server = only(page, "SERVER", "POST");
  const operation = only(page, "INTERNAL", "query");
  const upstream = [USERS, LOGS, JOB, BUILD].map((name) => only(page, "CLIENT", name));
  expect(page.spans).toHaveLength(6);
  expect(server.parentSpanId).toBe(page.caller);
  expect(operation).toMatchObject({ parentSpanId: server.spanId, isError: true });
  for (const span of upstream) expect(span.parentSpanId).toBe(operation.spanId);
  // A second value in the header would be behind a comma.
  expect(sentFor(page.traceId)).toEqual(
    upstream.map(({ spanId }) => `00-${page.traceId}-${spanId}-01`).toSorted(),
  );
  expect(upstream.map(({ isError, attributes }) => [isError, attributes])).toEqual(
    [USERS, LOGS, JOB, BUILD].map((name) => [
      name === BUILD,
      {
        "http.request.method": "GET",
        "url.template": name.slice("GET ".length),
        "http.response.status_code": name === BUILD ? 404 : 200,
        ...(name === BUILD && { "error.type": "404" }),
      },
    ]),
  );

  const file = await get(`/downloads/${LOG_ID}/logs`);
  const download = only(file, "INTERNAL", "GET /downloads/{id}/logs");
  const opened = only(file, "CLIENT", LOGS);
  expect(file.spans).toHaveLength(3);
  expect(only(file, "SERVER", "GET").parentSpanId).toBe(file.caller);
  expect(download.parentSpanId).toBe(only(file, "SERVER", "GET").spanId);
  expect(opened.parentSpanId).toBe(download.spanId);
  expect(sentFor(file.traceId)).toEqual([`00-${file.traceId}-${opened.spanId}-01`]);
});

test("with the sample, operations and downloads are server spans below the caller's, which name no secret", async () => {
  const service = await startService();
  const { ask, get, exported } = await startTraced(service, SAMPLE);
  for (const [sent, name, isError, attributes] of [
    [ask("query Me { viewer { isSuperuser } }"), "query", false, { "graphql.operation.name": "Me" }],
    [ask(`{ job(id: "ada.mnist.jobs.4") { status } }`), "query", true, { "error.type": "NOT_FOUND" }],
    [ask("{ canary }"), "GraphQL Operation", true, { "error.type": "GRAPHQL_VALIDATION_FAILED" }],
    [get(`/downloads/${LOG_ID}/logs?x=canary`), "GET /downloads/{id}/logs", false, {}],
    [get(`/downloads/${globalId("Group:ada/mnist/3")}/logs`), "GET /downloads/{id}/logs", true, {}],
  ] as const) {
    const trace = await sent;
    expect(only(trace, "SERVER", name)).toMatchObject({ parentSpanId: trace.caller, isError, attributes });
  }
  await get(
    `/graphql?query=${encodeURIComponent(`{ job(id: "canary.mnist.jobs.3") { id logs { text } } }`)}`,
  );
  for (const secret of ["canary", "mnist", LOG_ID, `:${new URL(service.url).port}`, "step 1"])
    expect(exported()).not.toContain(secret);
});
