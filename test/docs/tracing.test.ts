import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { globalId } from "../support/ids.ts";
import { type Span, startTraced } from "../support/tracing.ts";

const SAMPLE = "docs/tracing.mjs";
const INSTRUMENTED = "test/support/instrumented.mjs";

/** A service with one user, one job with a log, and no builds. */
const startService = () =>
  startFake(({ path }) => {
    if (path.endsWith("/users/")) return { json: { username: "ada", is_superuser: false } };
    if (path.endsWith("/logs")) return { text: "step 1\n" };
    if (path.endsWith("/jobs/3/"))
      return { json: { id: 3, unique_name: "ada.mnist.jobs.3", last_status: "running" } };
    return undefined;
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
  for (const [document, isError, attributes] of [
    ["query Me { viewer { isSuperuser } }", false, { "graphql.operation.name": "Me" }],
    [`{ job(id: "ada.mnist.jobs.4") { status } }`, true, { "error.type": "NOT_FOUND" }],
  ] as const) {
    const operation = await ask(document);
    expect(only(operation, "SERVER", "query")).toMatchObject({
      parentSpanId: operation.caller,
      isError,
      attributes: { "graphql.operation.type": "query", ...attributes },
    });
  }
  expect(only(await ask("{ canary }"), "SERVER", "GraphQL Operation")).toMatchObject({
    isError: true,
    attributes: { "error.type": "GRAPHQL_VALIDATION_FAILED" },
  });
  for (const [id, isError] of [
    [LOG_ID, false],
    [globalId("Group:ada/mnist/3"), true],
  ] as const) {
    const download = await get(`/downloads/${id}/logs?x=canary`);
    expect(only(download, "SERVER", "GET /downloads/{id}/logs")).toMatchObject({
      parentSpanId: download.caller,
      isError,
    });
  }
  await get(
    `/graphql?query=${encodeURIComponent(`{ job(id: "canary.mnist.jobs.3") { id logs { text } } }`)}`,
  );
  for (const secret of ["canary", "mnist", LOG_ID, `:${new URL(service.url).port}`, "step 1"])
    expect(exported()).not.toContain(secret);
});
