import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { turnsOf } from "../support/turns.ts";

const run = (id: number, given: object) => ({ id, unique_name: `ada.mnist.${id}`, user: "ada", ...given });

const RECORDS = {
  "ada/mnist/experiments/1/": run(1, {
    build_job: "ada.mnist.builds.1",
    tags: ["a"],
    declarations: { lr: 0.1, layers: [1, 2] },
    last_metric: { loss: 1, acc: 0.5 },
  }),
  "ada/mnist/experiments/2/": run(2, {
    build_job: "ada.mnist.builds.2",
    tags: ["a"],
    declarations: { lr: 0.2, layers: [1, 2], deep: true },
    last_metric: { loss: "NaN", acc: 0.5 },
  }),
};

async function startComparing() {
  const service = await startRecords(RECORDS);
  return { ...(await startGateway({ upstream: service })), calls: service.calls };
}

test("tells what differs, with a request for each run", async () => {
  const { ask, calls } = await startComparing();
  const answer = await ask(`{
    compareRuns(ids: ["ada.mnist.1", "ada.mnist.2"]) {
      runs { uniqueName }
      origin { name values differs }
      parameters { name values }
      metrics { name values }
    }
  }`);
  expect(answer).toEqual({
    data: {
      compareRuns: {
        runs: [{ uniqueName: "ada.mnist.1" }, { uniqueName: "ada.mnist.2" }],
        origin: [{ name: "buildJob", values: ["ada.mnist.builds.1", "ada.mnist.builds.2"], differs: true }],
        parameters: [
          { name: "deep", values: [null, true] },
          { name: "lr", values: [0.1, 0.2] },
        ],
        metrics: [{ name: "loss", values: [1, null] }],
      },
    },
  });
  expect(calls().toSorted()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
});

test("tells also what is the same when asked", async () => {
  const { ask } = await startComparing();
  const { data } = await ask(`{
    compareRuns(ids: ["ada.mnist.2", "ada.mnist.1"], onlyDifferences: false) {
      parameters { name values differs }
      metrics { name differs }
    }
  }`);
  expect(data).toEqual({
    compareRuns: {
      parameters: [
        { name: "deep", values: [true, null], differs: true },
        {
          name: "layers",
          values: [
            [1, 2],
            [1, 2],
          ],
          differs: false,
        },
        { name: "lr", values: [0.2, 0.1], differs: true },
      ],
      metrics: [
        { name: "acc", differs: false },
        { name: "loss", differs: true },
      ],
    },
  });
});

test.each([
  [`["ada.mnist.1", "ada.mnist.3"]`, "NOT_FOUND", /./],
  ["[]", "BAD_USER_INPUT", /^ids: expected 1 to 100 ids, got 0$/],
  [`["ada.mnist.1", "x"]`, "BAD_USER_INPUT", /^ids\[1\]: expected /],
])("%s is null with the reason", async (ids, code, message) => {
  const { ask } = await startComparing();
  const { data, errors } = outcomeOf(await ask(`{ compareRuns(ids: ${ids}) { metrics { name } } }`));
  expect(data).toEqual({ compareRuns: null });
  expect(errors).toMatchObject([failure("compareRuns", code, expect.stringMatching(message))]);
});

test("one of many that is missing is named", async () => {
  const { ask } = await startComparing();
  const { errors } = await ask<object, never>(
    `{ compareRuns(ids: ["ada.mnist.1", "ada.mnist.3"]) { metrics { name } } }`,
  );
  expect(errors).toMatchObject([{ extensions: { code: "NOT_FOUND", reference: "ada.mnist.3" } }]);
});

test("many runs that have nothing in common are compared in pieces", async () => {
  const count = 100;
  const rows = Array.from({ length: count }, (_, index) =>
    run(index + 1, {
      declarations: Object.fromEntries(
        Array.from({ length: 500 }, (__, name) => [`p${index}_${name}`, name]),
      ),
    }),
  );
  const service = await startRecords(
    Object.fromEntries(rows.map((row) => [`ada/mnist/experiments/${row.id}/`, row])),
  );
  const env = { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" };
  const { ask } = await startGateway({ upstream: service, env });
  const ids = rows.map(({ unique_name }) => unique_name);
  const query = "query ($ids: [ID!]!) { compareRuns(ids: $ids) { parameters { differs } } }";
  // The second time the responses are kept: they are only compared.
  const before = await ask(query, { ids });
  expect(before.errors).toBeUndefined();
  expect(before.data).toMatchObject({ compareRuns: { parameters: { length: 50_000 } } });
  const { all, longest } = await turnsOf(() => ask(query, { ids }));
  // In one piece it is almost all.
  expect(longest / all).toBeLessThan(0.4);
});

test("lists of many runs are compared in pieces", async () => {
  const list = Array.from({ length: 2_000 }, (_, index) => [index, [index]]);
  const count = 50;
  const service = await startRecords(
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `ada/mnist/experiments/${index + 1}/`,
        run(index + 1, { declarations: { list } }),
      ]),
    ),
  );
  const env = { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" };
  const { ask } = await startGateway({ upstream: service, env });
  const ids = Array.from({ length: count }, (_, index) => `ada.mnist.${index + 1}`);
  const query =
    "query ($ids: [ID!]!) { compareRuns(ids: $ids, onlyDifferences: false) { parameters { differs } } }";
  const before = await ask(query, { ids });
  expect(before.data).toEqual({ compareRuns: { parameters: [{ differs: false }] } });
  const { all, longest } = await turnsOf(() => ask(query, { ids }));
  expect(longest / all).toBeLessThan(0.4);
});

test("a run has null where others have a value, wherever it stands", async () => {
  const { ask } = await startComparing();
  const ids = ["ada.mnist.2", "ada.mnist.1", "ada.mnist.2"];
  const { data } = await ask(
    `query ($ids: [ID!]!) { compareRuns(ids: $ids) { parameters { name values } } }`,
    { ids },
  );
  expect(data).toEqual({
    compareRuns: {
      parameters: [
        { name: "deep", values: [true, null, true] },
        { name: "lr", values: [0.2, 0.1, 0.2] },
      ],
    },
  });
});
