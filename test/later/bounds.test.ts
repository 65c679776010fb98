import { expect, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { PATIENT, withDeadline } from "../support/patience.ts";
import { askInPieces, merge, partsOf } from "../support/pieces.ts";

const SIGNED_IN = { authorization: "token t0ken" };

const QUERY = `{
  experiment(id: "ada.mnist.3") {
    status
    ... @defer { buildJob { description } }
    ... @defer { experimentGroup { description } }
  }
}`;

const EXPERIMENT = {
  id: 3,
  last_status: "running",
  build_job: "ada.mnist.builds.7",
  experiment_group: "ada.mnist.2",
};

/** A service that answers what is deferred when `opened` is fulfilled. */
const startWith = (opened: Promise<void>) =>
  startFake(async ({ path }) => {
    if (path.includes("experiments")) return { json: EXPERIMENT };
    await opened;
    return { json: { id: 7, description: "x".repeat(2_000) } };
  });

test("the budget of requests is one for all pieces, and what is beyond it is an error in its own", async () => {
  const upstream = await startWith(Promise.resolve());
  const { url } = await startGateway({ upstream, env: { MAX_UPSTREAM_REQUESTS: "2" } });
  const { data, errors } = merge(await askInPieces(url, { query: QUERY }, SIGNED_IN));
  expect(data).toMatchObject({
    experiment: { status: "RUNNING", buildJob: { description: expect.stringMatching(/^x+$/) } },
  });
  expect(errors).toMatchObject([{ path: ["experiment", "experimentGroup", "description"] }]);
  expect(upstream.calls()).toHaveLength(2);
});

test.each([
  ["MAX_RESULT_FIELDS", "11"],
  ["MAX_RESULT_BYTES", "3000"],
])("%s counts all pieces together", async (setting, value) => {
  const upstream = await startWith(Promise.resolve());
  const { url } = await startGateway({ upstream, env: { [setting]: value } });
  const pieces = await askInPieces(url, { query: QUERY }, SIGNED_IN);
  expect(pieces[0]).toMatchObject({ data: { experiment: { status: "RUNNING" } }, hasNext: true });
  const codes = merge(pieces).errors.map(({ extensions }) => extensions?.["code"]);
  expect(new Set(codes)).toEqual(new Set(["OPERATION_TOO_LARGE"]));
});

test("the deadline is one for all pieces: those that are not there by then fail, and the body ends", async () => {
  await withDeadline(async (deadlineMs) => {
    const upstream = await startWith(new Promise(() => {}));
    const { url } = await startGateway({ upstream, env: { REQUEST_TIMEOUT_MS: `${deadlineMs}` } });
    const { data, errors } = merge(await askInPieces(url, { query: QUERY }, SIGNED_IN));
    expect(data).toMatchObject({ experiment: { status: "RUNNING" } });
    expect(errors.map(({ path }) => path)).toEqual([
      ["experiment", "buildJob", "description"],
      ["experiment", "experimentGroup", "description"],
    ]);
  });
});

test("a caller who leaves between two pieces ends their requests, and the places are free", async () => {
  let left = 0;
  const url = await listen((request, response) => {
    if (request.url?.includes("experiments")) {
      response.setHeader("content-type", "application/json").end(JSON.stringify(EXPERIMENT));
      return;
    }
    response.once("close", () => left++);
  });
  const gateway = await startGateway({ upstream: { url }, env: { MAX_OPERATIONS_PER_TOKEN: "1" } });
  const leaving = new AbortController();
  const response = await fetch(`${gateway.url}/graphql`, {
    method: "POST",
    headers: { ...SIGNED_IN, "content-type": "application/json", accept: "multipart/mixed" },
    body: JSON.stringify({ query: QUERY }),
    signal: leaving.signal,
  });
  const pieces = partsOf(response);
  expect((await pieces.next()).value).toMatchObject({ hasNext: true });
  await vi.waitUntil(() => gateway.logged().includes("experiments"), PATIENT);
  leaving.abort();
  await expect(pieces.next()).rejects.toThrow(/abort/);
  await vi.waitUntil(() => left === 2, PATIENT);
  await vi.waitFor(async () => {
    const { errors } = await gateway.ask("{ __typename }");
    expect(errors).toBeUndefined();
  }, PATIENT);
  expect(gateway.logged()).not.toContain('"level":50');
});

test("a gateway that drains finishes the pieces of what it has begun", async () => {
  const { opened, open } = gate();
  const upstream = await startWith(opened);
  const gateway = await startGateway({ upstream });
  const asking = askInPieces(gateway.url, { query: QUERY }, SIGNED_IN);
  await vi.waitUntil(() => upstream.calls().length === 3, PATIENT);
  gateway.drain();
  open();
  expect(merge(await asking)).toMatchObject({ errors: [], failed: [] });
});
