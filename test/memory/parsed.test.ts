import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { type FakeResponse, startFake } from "../support/fake.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { mainIn } from "../support/main-process.ts";
import { jsonText } from "../support/one-read.ts";
import { sendPlainly } from "../support/raw-requests.ts";

/** Heap of the process and memory of its container in the files of `deploy`, in megabytes. */
const HEAP = 384;
const CONTAINER = 768;

/** Starts a gateway with that heap, in front of a service that sends the given record for each id. */
async function start(recordOf: (id: number) => FakeResponse) {
  const records = new Map<string, FakeResponse>();
  const service = await startFake(({ path }) => {
    const [, id = ""] = /experiments\/(\d+)/.exec(path) ?? [];
    const reported = records.get(id) ?? recordOf(Number(id));
    records.set(id, reported);
    return reported;
  });
  const program = [`--max-old-space-size=${HEAP}`, "--max-semi-space-size=32", mainIn(BUILT)];
  // The deadlines are long, so that they do not reduce the load on a slow machine.
  const env = { REQUEST_TIMEOUT_MS: "600000", UPSTREAM_TIMEOUT_MS: "600000", UPSTREAM_RATE_LIMIT: "off" };
  const gateway = await startGatewayProcess(service.url, env, program);
  onTestFinished(gateway.kill);
  return {
    ...gateway,
    /** Sends one operation per caller, each of which reads `count` records. Resolves with their statuses. */
    read: (count: number, callers: number) => {
      const reads = Array.from(
        { length: count },
        (_, id) => `r${id}: experiment(id: "ada.mnist.${id}") { name }`,
      );
      const body = JSON.stringify({ query: `{ ${reads.join(" ")} }` });
      const send = async (_: unknown, token: number) => {
        const headers = { "content-type": "application/json", authorization: `token ${token}` };
        const { status } = await sendPlainly(`${gateway.url}/graphql`, { method: "POST", headers }, body);
        return status;
      };
      return Promise.all(Array.from({ length: callers }, send)).catch(() => []);
    },
    /** Peak memory of the gateway so far, in megabytes. */
    peak: () =>
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1_000,
  };
}

/** A record with at least `bytes` bytes of items. */
function record(bytes: number, itemAt: (index: number) => string): string {
  const items: string[] = [];
  for (let length = 0; length < bytes; length += (items.at(-1) ?? "").length + 1)
    items.push(itemAt(items.length));
  return `{"id": 1, "name": "a", "declarations": [null,${items.join()}]}`;
}

/** Twelve names in an order that is unique to the index. */
function shuffled(prefix: number, index: number): string {
  const names = Array.from({ length: 12 }, (_, name) => `"${name.toString(36)}_${prefix}":0`);
  let rest = index;
  const order = Array.from({ length: 12 }, () => {
    const [name = ""] = names.splice(rest % names.length, 1);
    rest = Math.floor(rest / (names.length + 1));
    return name;
  });
  return `{${order.join()}}`;
}

const MEGABYTE = 1_000_000;

/** Loads that crashed 1.0.0: the size of each record, the records read at a time, and the number of callers. */
const WORST = [
  {
    of: "property names that are numbers",
    bytes: 9.5 * MEGABYTE,
    records: 1,
    callers: 1,
    item: () => '{"34":0}',
  },
  {
    of: "fewer names that are numbers, in six records",
    bytes: 2.4 * MEGABYTE,
    records: 6,
    callers: 1,
    item: () => '{"34":0}',
  },
  { of: "numbers beside null", bytes: 9.5 * MEGABYTE, records: 5, callers: 3, item: () => "3e9" },
  {
    of: "names in a different order in each object",
    bytes: 6 * MEGABYTE,
    records: 6,
    callers: 3,
    item: shuffled,
  },
] as const;

test.each(WORST)("a process survives responses of $of", async ({ bytes, records, callers, item }) => {
  const { read, expectAlive } = await start((id) => jsonText(record(bytes, (index) => item(id, index))));
  const statuses = await read(records, callers);
  await expectAlive();
  expect(statuses).toEqual(Array.from({ length: callers }, () => 200));
});

test("compressed responses are charged by their decoded size", async () => {
  const zipped = gzipSync(record(9.7 * MEGABYTE, () => `"${"a".repeat(1_000)}"`));
  const { read, peak, expectAlive } = await start(() => jsonText(zipped, "gzip"));
  await read(64, 2);
  await expectAlive();
  expect(peak()).toBeLessThan(CONTAINER);
});
