import { expect, onTestFinished, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { mainIn } from "../support/main-process.ts";

/*
 * Values that users write into runs, read by an ordinary caller. Each of them once ended a process with this heap, or blocked it forever.
 */

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** JSON of nested objects: `{"a":{"a":0}}`. */
const nested = (levels: number) => `${'{"a":'.repeat(levels)}0${"}".repeat(levels)}`;

const at = "2026-01-01T00:00:00Z";

/** Starts a gateway process in front of a service with one run, which has these keys. */
async function start(written: object) {
  const run = {
    id: 1,
    uuid: "e1",
    unique_name: "ada.mnist.1",
    project: "ada.mnist",
    last_status: "running",
    created_at: at,
    updated_at: at,
    ...written,
  };
  const service = await startFake((seen) =>
    /\/experiments\/1\/?$/.test(seen.path) ? { json: run } : pageOf([run], seen),
  );
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "off", REQUEST_TIMEOUT_MS: "600000" };
  const program = ["--max-old-space-size=384", "--max-semi-space-size=32", mainIn(BUILT)];
  const gateway = await startGatewayProcess(service.url, env, program);
  onTestFinished(gateway.kill);
  return gateway;
}

const HEADERS = { authorization: "token t0ken", "content-type": "application/json" };

const filtered = (value: string) => `{ project(id: "ada.mnist") {
  experiments(filter: { parameters: [{ name: "x", values: [${JSON.stringify(value)}] }] }) { nodes { internalId } }
} }`;

const aliases = (count: number, selection: string) => `{ experiment(id: "ada.mnist.experiments.1") {
  ${numbers(count)
    .map((index) => `a${index}: ${selection}`)
    .join(" ")}
} }`;

const LONG_NAMES = Object.fromEntries(
  numbers(60).map((outer) => [
    `${outer}`.padEnd(480, "n"),
    Object.fromEntries(numbers(5_000).map((inner) => [`${inner}`, 0])),
  ]),
);

/** One value of 9 MB with eight names, each of which returns all of it. */
const NESTED = JSON.parse(`${'{"a":'.repeat(8)}"${"x".repeat(9_000_000)}"${"}".repeat(8)}`) as object;
const NESTED_NAMES = numbers(8).map((level) => `parameter.${"a.".repeat(level)}a`);

test.each<[string, object, string, string]>([
  [
    "a filter for a deeply nested value",
    { declarations: { x: JSON.parse(nested(150)) as object } },
    filtered(nested(150)),
    '{"data":{"project":{"experiments":{"nodes":[{"internalId":"1"}]}}}}',
  ],
  [
    "a filter for a number where a value is deeply nested",
    { declarations: { x: JSON.parse(nested(150)) as object } },
    filtered("0"),
    '{"data":{"project":{"experiments":{"nodes":[]}}}}',
  ],
  [
    "keys of YAML that are objects",
    { config: `${"? ".repeat(60)}a: 1` },
    aliases(1, "config { kind }"),
    "an object in JSON",
  ],
  [
    "a long reference",
    { build_job: "b".repeat(3_000_000) },
    aliases(140, "buildJob { __typename }"),
    "cannot be read",
  ],
  [
    "a reference of dots",
    { original: ".".repeat(9_000_000) },
    aliases(100, "original { __typename }"),
    "cannot be read",
  ],
  [
    "names of one long metric",
    { last_metric: { m: numbers(1_000_000).map(() => 0) } },
    `{ experiment(id: "ada.mnist.1") { latestMetrics(names: [${numbers(200)
      .map(() => '"m"')
      .join()}]) { name } } }`,
    '{"data":{"experiment":{"latestMetrics":[{"name":"m"}]}}}',
  ],
])("a process survives %s", async (_, written, query, expected) => {
  const { url, expectAlive } = await start(written);
  const body = JSON.stringify({ query });
  const response = await fetch(`${url}/graphql`, { method: "POST", headers: HEADERS, body });
  expect(await response.text()).toContain(expected);
  await expectAlive();
});

/* The numbers are the allowed statuses. The first one must occur. The second one may, if an export exceeds the memory limit. */
test.each<[string, object, string, readonly number[]]>([
  ["names that are longer than their JSON", { declarations: LONG_NAMES }, "csv", [400]],
  ["names that are longer than their JSON, in NDJSON", { declarations: LONG_NAMES }, "ndjson", [400]],
  ["a cell of formulas", { description: ";=".repeat(4_500_000) }, "csv?columns=description", [200]],
  [
    "one value under nested names",
    { declarations: NESTED },
    `ndjson?columns=${NESTED_NAMES.join()}`,
    [400, 200],
  ],
  [
    "one value under nested names, in CSV",
    { declarations: NESTED },
    `csv?columns=${NESTED_NAMES.join()}`,
    [400, 200],
  ],
  ["a cell of quotation marks", { description: '"'.repeat(4_400_000) }, "csv?columns=description", [200]],
])("a process survives exports of %s", async (_, written, format, allowed) => {
  const { url, expectAlive } = await start(written);
  const read = async () => {
    const response = await fetch(`${url}/export/ada.mnist/runs.${format}`, { headers: HEADERS });
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = await Promise.all(numbers(4).map(read));
  expect([...new Set(statuses)].filter((status) => !allowed.includes(status))).toEqual([]);
  expect(statuses).toContain(allowed[0]);
  await expectAlive();
});
