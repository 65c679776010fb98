import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { RELEASE_02, startGateway } from "../support/gateway.ts";
import { LONG_TIMEOUT, withDeadline } from "../support/long-timeout.ts";
import { post } from "../support/raw-requests.ts";
import { begin, readFast, readOn } from "../support/readers.ts";
import { askIncrementally, merge } from "../support/incremental.ts";
import { EXPERIMENT, SIGNED_IN } from "./build-of-a-run.ts";

const QUERY = `{
  experiment(id: "ada.mnist.3") {
    status
    ... @defer { buildJob { description } }
    ... @defer { experimentGroup { description } }
  }
}`;

/** Starts a service that sends builds and groups when `opened` is fulfilled. */
const startWith = (opened: Promise<void>) =>
  startFake(async ({ path }) => {
    if (path.includes("experiments")) return { json: { ...EXPERIMENT, experiment_group: "ada.mnist.2" } };
    await opened;
    return { json: { id: 7, description: "x".repeat(2_000) } };
  });

test("payloads share one request limit, above which a payload has errors", async () => {
  const upstream = await startWith(Promise.resolve());
  const { url } = await startGateway({ upstream, env: { MAX_UPSTREAM_REQUESTS: "2" } });
  const { data, errors } = merge(await askIncrementally(url, { query: QUERY }, SIGNED_IN));
  expect(data).toMatchObject({
    experiment: { status: "RUNNING", buildJob: { description: expect.stringMatching(/^x+$/) } },
  });
  expect(errors).toMatchObject([{ path: ["experiment", "experimentGroup", "description"] }]);
  expect(upstream.calls()).toHaveLength(2);
});

test.each([
  ["MAX_RESULT_FIELDS", "11"],
  ["MAX_RESULT_BYTES", "3000"],
])("%s limits all payloads together", async (setting, value) => {
  const upstream = await startWith(Promise.resolve());
  const { url } = await startGateway({ upstream, env: { [setting]: value } });
  const payloads = await askIncrementally(url, { query: QUERY }, SIGNED_IN);
  expect(payloads[0]).toMatchObject({ data: { experiment: { status: "RUNNING" } }, hasNext: true });
  const codes = merge(payloads).errors.map(({ extensions }) => extensions?.["code"]);
  expect(new Set(codes)).toEqual(new Set(["OPERATION_TOO_LARGE"]));
});

test("payloads share one deadline; late payloads fail, and the response ends", async () => {
  await withDeadline(async (deadlineMs) => {
    const upstream = await startWith(new Promise(() => {}));
    const { url } = await startGateway({ upstream, env: { REQUEST_TIMEOUT_MS: `${deadlineMs}` } });
    const { data, errors } = merge(await askIncrementally(url, { query: QUERY }, SIGNED_IN));
    expect(data).toMatchObject({ experiment: { status: "RUNNING" } });
    expect(errors.map(({ path }) => path)).toEqual([
      ["experiment", "buildJob", "description"],
      ["experiment", "experimentGroup", "description"],
    ]);
  });
});

test("a draining gateway finishes the payloads of operations in progress", async () => {
  const { opened, open } = latch();
  const upstream = await startWith(opened);
  const gateway = await startGateway({ upstream });
  const asking = askIncrementally(gateway.url, { query: QUERY }, SIGNED_IN);
  await vi.waitUntil(() => upstream.calls().length === 3, LONG_TIMEOUT);
  gateway.drain();
  open();
  expect(merge(await asking)).toMatchObject({ errors: [], failed: [] });
});

test("an operation with unread payloads keeps its permit", async () => {
  const { opened, open } = latch();
  const upstream = await startFake(async ({ path }) => {
    if (path.includes("experiments")) return { json: { ...EXPERIMENT, experiment_group: "ada.mnist.2" } };
    if (path.includes("builds")) return { json: { id: 7, description: "x".repeat(6_000_000) } };
    await opened;
    return { json: { id: 2 } };
  });
  const { url } = await startGateway({ upstream, env: { MAX_OPERATIONS_PER_TOKEN: "1" } });
  const sent = begin(url, { path: "/graphql", graphql: QUERY, headers: { accept: "multipart/mixed" } });
  const [unread] = (await once(sent, "response")) as [IncomingMessage];
  await vi.waitUntil(() => unread.readableLength > 10_000, LONG_TIMEOUT);
  open();
  const ask = () => readFast(url, { path: "/graphql", graphql: "{ gateway { version } }" });
  for (let times = 0; times < 30; times++) expect(await ask()).toMatchObject({ status: 429 });
  expect(await readOn(unread)).toMatchObject({ status: 200, isWhole: true });
});

/** A name from the request that the data of a result contains at most once. */
const NAME = "n".repeat(3_000);
const runs = (selection: string) => `project(id: "ada.mnist") { experiments(first: 3) { ${selection} } }`;
const ITEMS = `nodes @stream(initialCount: 0, label: "${NAME}") { buildJob { description } }`;

test.each([
  ["keys in paths of pending parts", "", `{ ${NAME}: ${runs("nodes { ... @defer { id } }")} }`],
  ["labels of pending parts", "", `{ ${runs(`nodes { ... @defer(label: "${NAME}") { id } }`)} }`],
  ["labels of each item in the older format", "; deferSpec=20220824", `{ ${runs(ITEMS)} }`],
  ["keys in paths of errors", "", `{ ${NAME}: ${runs("nodes { buildJob { description } }")} }`],
])("MAX_RESULT_BYTES counts %s", async (_, format, query) => {
  const { opened, open } = latch();
  const results = [1, 2, 3].map((id) => ({ id, build_job: `ada.mnist.builds.${id}` }));
  const upstream = await startFake(async ({ path }) => {
    if (path.includes("experiments")) return { json: { count: 3, next: null, previous: null, results } };
    if (format === "") return undefined;
    if (!path.includes("builds/1")) await opened;
    return { json: { id: 7, description: "A build." } };
  });
  const { url } = await startGateway({ upstream, env: { ...RELEASE_02, MAX_RESULT_BYTES: "5500" } });
  const headers = { ...SIGNED_IN, accept: `multipart/mixed${format}, application/json` };
  const { body } = await post(`${url}/graphql`, { query }, headers);
  let text = "";
  for await (const bytes of body ?? []) {
    text += new TextDecoder().decode(bytes);
    // The other parts do not arrive before the first part is delivered.
    if (text.includes("A build.")) open();
  }
  expect(text).toContain("OPERATION_TOO_LARGE");
});
