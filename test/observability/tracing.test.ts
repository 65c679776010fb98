import { expect, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { READY_LINE, startMain } from "../support/main-process.ts";
import { PATIENT } from "../support/patience.ts";
import { startCounter } from "../support/silent-ports.ts";
import { startCollector } from "../support/tracing.ts";

const HOUR = "3600000";

/** The gateway as the image starts it, in front of a service with one user. */
async function startProcess(environment: Record<string, string>) {
  const service = await startFake(() => ({ json: { username: "ada", is_superuser: false } }));
  const gateway = startMain({
    PORT: "0",
    UPSTREAM_URL: service.url,
    OTEL_BSP_SCHEDULE_DELAY: "1",
    ...environment,
  });
  const [, url = ""] = await gateway.printed(READY_LINE);
  const ask = async (): Promise<unknown> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "token canary-token" },
      body: JSON.stringify({ query: "query Me { viewer { username } }" }),
    });
    return response.json();
  };
  /** The lines of its log with this message. */
  const logged = (message: string) =>
    gateway
      .out()
      .split("\n")
      .filter((line) => line.startsWith("{") && line.includes(message))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...gateway, ask, logged, service };
}

const VIEWER = { data: { viewer: { username: "ada" } } };
const UNSENT = "spans cannot be sent to the collector";

test("the variables of OpenTelemetry say where spans are sent, with which headers, and whose they are", async () => {
  const collector = await startCollector();
  const { ask, logged, printed } = await startProcess({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/in/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=collector-key",
    OTEL_SERVICE_NAME: "graph",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=staging",
  });
  expect(await ask()).toEqual(VIEWER);
  await vi.waitUntil(() => collector.requests().length > 0, PATIENT);
  const [first] = collector.requests();
  expect([first?.method, first?.path, first?.headers["x-key"]]).toEqual([
    "POST",
    "/in/traces",
    "collector-key",
  ]);
  const { resourceSpans } = JSON.parse(first?.body ?? "") as {
    resourceSpans: [{ resource: { attributes: { key: string; value: { stringValue?: string } }[] } }];
  };
  const resource = resourceSpans[0].resource.attributes.map(({ key, value }) => [key, value.stringValue]);
  expect(Object.fromEntries(resource)).toMatchObject({
    "service.name": "graph",
    "service.version": expect.stringMatching(/^\d/),
    "deployment.environment.name": "staging",
  });
  expect(resource.filter(([key]) => /host|process/.test(key ?? ""))).toEqual([]);
  await printed(/"msg":"operation"/);
  expect(logged("operation")).toEqual([
    expect.objectContaining({ traceId: expect.stringMatching(/^[\da-f]{32}$/) }),
  ]);
  expect(logged(UNSENT)).toEqual([]);
});

test("the spans of the last requests are sent before the process ends", async () => {
  const collector = await startCollector();
  const { ask, kill, ended } = await startProcess({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: HOUR,
  });
  expect(await ask()).toEqual(VIEWER);
  expect(collector.requests()).toEqual([]);
  kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(collector.requests().map(({ path }) => path)).toEqual(["/v1/traces"]);
  expect(collector.text()).toContain("GET users/");
  expect(collector.text()).not.toContain("canary-token");
});

test.each([
  {
    what: "refuses connections",
    start: () => Promise.resolve("http://127.0.0.1:1"),
    cause: "ECONNREFUSED",
  },
  { what: "does not answer", start: async () => (await startCounter()).url, cause: "TIMEOUT" },
  {
    what: "rejects",
    start: async () => (await startFake(() => ({ text: "canary", status: 401 }))).url,
    cause: "401",
  },
])(
  "a collector that $what neither fails an operation nor holds up the end: the log has the cause once",
  async (each) => {
    const { ask, kill, ended, logged, out, printed } = await startProcess({
      OTEL_EXPORTER_OTLP_ENDPOINT: await each.start(),
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
    });
    for (let round = 0; round < 3; round++) expect(await ask()).toEqual(VIEWER);
    await printed(new RegExp(`"cause":"${each.cause}"`));
    for (let round = 0; round < 3; round++) expect(await ask()).toEqual(VIEWER);
    kill("SIGTERM");
    expect(await ended).toBe(0);
    // On a slow machine also TIMEOUT.
    const lines = logged(UNSENT).filter(({ cause }) => cause === each.cause);
    expect(lines).toEqual([expect.objectContaining({ level: 40, cause: each.cause })]);
    expect(out()).not.toContain("canary");
  },
);

/** A collector that answers when it is told to. */
async function startSlow() {
  const told = gate();
  const fake = await startFake(async () => {
    await told.opened;
    return { json: {} };
  });
  return { ...fake, answer: told.open };
}

const UNHURRIED = { OTEL_EXPORTER_OTLP_TIMEOUT: HOUR, OTEL_BSP_EXPORT_TIMEOUT: HOUR };

test.each([
  { what: "have just been sent", delay: "1", sent: 1 },
  { what: "are still to be sent", delay: HOUR, sent: 0 },
])(
  "a collector that takes its time with spans that $what holds up the end for a moment only",
  async (each) => {
    const collector = await startSlow();
    const { ask, kill, ended } = await startProcess({
      ...UNHURRIED,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: each.delay,
    });
    expect(await ask()).toEqual(VIEWER);
    await vi.waitUntil(() => collector.seen().length >= each.sent, PATIENT);
    kill("SIGTERM");
    expect(await ended).toBe(0);
    // It has been waited for: only now does it answer.
    expect(collector.seen()).not.toEqual([]);
    collector.answer();
  },
);

test.each([
  { variables: { OTEL_SDK_DISABLED: "true" }, warnings: 0 },
  { variables: { OTEL_TRACES_EXPORTER: "none" }, warnings: 0 },
  { variables: { OTEL_TRACES_SAMPLER: "always_off" }, warnings: 0 },
  { variables: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector:4318" }, warnings: 1 },
])("with $variables no spans are sent", async ({ variables, warnings }) => {
  const collector = await startCollector();
  const { ask, kill, ended, logged } = await startProcess({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...variables,
  });
  expect(await ask()).toEqual(VIEWER);
  kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(collector.requests()).toEqual([]);
  expect(logged("no spans are sent")).toHaveLength(warnings);
});
