import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  alone,
  type BuildAnswers,
  buildRow,
  buildRows,
  buildsIn,
  buildsOf,
  byIds,
  REFUSED_FILTER,
  startBuilds,
  succeeded,
  UNKNOWN_LIST,
  upTo,
  wholeBuild,
} from "./builds.ts";
import { sortedErrorsOf } from "../support/errors.ts";
import type { FakeResponse } from "../support/fake.ts";
import { detail } from "../support/replies.ts";

describe("links of one kind", () => {
  test.each([
    ["by one request", 50, [byIds(upTo(50))]],
    [
      "a hundred at a time",
      250,
      [byIds(upTo(100)), byIds(upTo(200).slice(100)), byIds(upTo(250).slice(200))],
    ],
    ["a hundred at once, and the last link alone", 101, [...alone(["101"]), byIds(upTo(100))]],
  ])("cost only the requests that are sent: %s", async (_, count, requests) => {
    const env = { MAX_UPSTREAM_REQUESTS: `${requests.length + 1}` };
    const { ask, calls } = await startBuilds({ env });
    const answer = await ask(buildsOf(count));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(count).map(succeeded));
    expect(calls()).toEqual(requests.toSorted());
  });

  test.each(["commit", "uniqueName status dockerfile", "jobCount", "nodeScheduled { name }"])(
    "are read individually for { %s }, which lists do not contain",
    async (fields) => {
      const { ask, calls } = await startBuilds();
      const { errors } = await ask(buildsOf(4, fields));
      expect(errors).toBeUndefined();
      expect(calls()).toEqual(alone(upTo(4)));
    },
  );

  test("cost no request when their names contain every selected field", async () => {
    const { ask, calls } = await startBuilds();
    const answer = await ask(buildsOf(4, "id internalId uniqueName project { name }"));
    expect(buildsIn(answer)).toMatchObject(upTo(4).map((internalId) => ({ internalId })));
    expect(calls()).toEqual([]);
  });
});

describe("a record selected both in part and as a whole", () => {
  test("is read once, as a whole", async () => {
    const { ask, calls } = await startBuilds();
    const { data, errors } = await ask<object, object>(`{
      a: buildJob(id: "ada.mnist.builds.1") { status }
      b: buildJob(id: "ada.mnist.builds.1") { commit }
      c: buildJob(id: "ada.mnist.builds.2") { status }
      d: buildJob(id: "ada.mnist.builds.3") { status }
    }`);
    expect(errors).toBeUndefined();
    const status = { status: "SUCCEEDED" };
    expect(data).toEqual({ a: status, b: { commit: "c1" }, c: status, d: status });
    expect(calls()).toEqual([...alone(["1"]), byIds(["2", "3"])]);
  });
});

describe("an id missing from a batch response", () => {
  const withoutTwo: BuildAnswers = {
    byIds: (ids) => buildRows(ids.filter((id) => id !== "2")),
    alone: (id) => (id === "2" ? undefined : wholeBuild(id)),
  };

  test("is requested alone to get its error, and other ids resolve", async () => {
    const { ask, calls } = await startBuilds(withoutTwo);
    const answer = await ask(buildsOf(3));
    expect(buildsIn(answer)).toEqual([succeeded("1"), null, succeeded("3")]);
    expect(sortedErrorsOf(answer)).toEqual([
      {
        at: "project.experiments.nodes.1.buildJob",
        code: "NOT_FOUND",
        message: "Not found: ada.mnist.builds.2.",
        reference: "ada.mnist.builds.2",
        upstream: { method: "GET", route: "{owner}/{project}/builds/{id}/", status: 404 },
      },
    ]);
    expect(calls()).toEqual([...alone(["2"]), byIds(["1", "2", "3"])]);
  });

  test("is requested alone when the server ignores the filter", async () => {
    const { ask, calls } = await startBuilds({ byIds: () => buildRows(["7", "8", "9", "2"]) });
    expect(buildsIn(await ask(buildsOf(3)))).toEqual(upTo(3).map(succeeded));
    expect(calls()).toEqual([...alone(["1", "3"]), byIds(["1", "2", "3"])]);
  });
});

describe("a row of a batched list", () => {
  test("is reread for an absent field, but not for a null field", async () => {
    const { ask, calls } = await startBuilds({
      byIds: (ids) => ({
        json: {
          results: ids.map((id) => (id === "2" ? { id: 2, name: null } : { ...buildRow(id), name: null })),
        },
      }),
    });
    const answer = await ask(buildsOf(3, "status name"));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(3).map(() => ({ status: "SUCCEEDED", name: null })));
    expect(calls()).toEqual([...alone(["2"]), byIds(["1", "2", "3"])]);
  });
});

describe("a server that does not support the filter", () => {
  test.each([
    ["refuses it", REFUSED_FILTER],
    ["does not have the list", UNKNOWN_LIST],
  ])("and %s gets individual reads for ten minutes", async (_, reported) => {
    const { ask, calls, logged } = await startBuilds({ byIds: () => reported });
    const first = await ask(buildsOf(3));
    expect(first.errors).toBeUndefined();
    expect(buildsIn(first)).toEqual(upTo(3).map(succeeded));
    expect(calls()).toEqual([...alone(upTo(3)), byIds(upTo(3))]);

    expect(await ask(buildsOf(3))).toEqual(first);
    expect(calls()).toEqual(alone(upTo(3)));
    expect(logged().match(/"route":"[^"]+","msg":"the server does not take reads/g)).toHaveLength(1);

    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 600_001);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await ask(buildsOf(3))).toEqual(first);
    expect(calls()).toContain(byIds(upTo(3)));
  });

  test.each([REFUSED_FILTER, UNKNOWN_LIST])(
    "is not assumed if the service refuses unreadable records (case %#)",
    async (reported) => {
      const { ask, calls } = await startBuilds({
        byIds: (ids) => (ids.includes("9") ? reported : buildRows(ids)),
        alone: (id) => (id === "9" ? undefined : wholeBuild(id)),
      });
      const [one, nine] = [1, 9].map((id) => `of${id}: buildJob(id: "ada.mnist.builds.${id}") { status }`);
      await ask(`{ ${one} ${nine} }`);
      calls();
      await ask(buildsOf(3));
      expect(calls()).toEqual([byIds(upTo(3))]);
    },
  );

  test("gets each read once, even if another field needs the whole record", async () => {
    const { ask, calls } = await startBuilds({ byIds: () => REFUSED_FILTER });
    const { data, errors } = await ask<object, object>(`{
      a: buildJob(id: "ada.mnist.builds.1") { status }
      b: buildJob(id: "ada.mnist.builds.2") { status }
      project(id: "ada.mnist") {
        experiments(first: 2) { nodes { buildJob { commit } } }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({
      project: { experiments: { nodes: [{ buildJob: { commit: "c1" } }, { buildJob: { commit: "c2" } }] } },
    });
    expect(calls()).toEqual([...alone(["1", "2"]), byIds(["1", "2"])]);
  });

  test("is not assumed if the service refuses the caller's own filter", async () => {
    const { ask, calls } = await startBuilds({
      byIds: (ids) => (ids.includes("nonsense:1") ? REFUSED_FILTER : buildRows(ids)),
    });
    await ask(`{ project(id: "ada.mnist") { buildJobs(query: "nonsense:1") { totalCount } } }`);
    calls();
    await ask(buildsOf(3));
    expect(calls()).toEqual([byIds(upTo(3))]);
  });
});

describe("a batched list that fails", () => {
  test.each<[string, FakeResponse]>([
    ["a crash", { text: "<h1>Server Error</h1>", status: 500, headers: { "content-type": "text/html" } }],
    ["no JSON", { text: "<html>" }],
    ["no list", { json: { results: "none" } }],
    ["rows that are not objects", { json: { results: [null, {}] } }],
  ])("with %s falls back to individual reads until the next request", async (_, reported) => {
    const { ask, calls } = await startBuilds({ byIds: () => reported });
    for (let time = 0; time < 2; time++) {
      const answer = await ask(buildsOf(3));
      expect(answer.errors).toBeUndefined();
      expect(buildsIn(answer)).toEqual(upTo(3).map(succeeded));
      expect(calls()).toEqual([...alone(upTo(3)), byIds(upTo(3))]);
    }
  });

  const LATER = { "retry-after": "3600" };

  test.each([
    ["may not read the list", detail(403, "No."), { code: "FORBIDDEN", message: "No." }],
    [
      "is throttled for an hour",
      { status: 429, json: {}, headers: LATER },
      {
        code: "RATE_LIMITED",
        message: "The service allows no more requests for now.",
        retryAfterSeconds: 300,
      },
    ],
  ] satisfies [string, FakeResponse, object][])(
    "because the caller %s gives all links one error after one request",
    async (_, reported, details) => {
      const { ask, calls } = await startBuilds({ byIds: () => reported });
      const answer = await ask(buildsOf(3));
      expect(buildsIn(answer)).toEqual([null, null, null]);
      expect(sortedErrorsOf(answer)).toEqual([
        {
          at: "project.experiments.nodes.0.buildJob",
          ...details,
          upstream: { method: "GET", route: "{owner}/{project}/builds", status: reported.status },
          paths: [0, 1, 2].map((index) => ["project", "experiments", "nodes", index, "buildJob"]),
        },
      ]);
      expect(calls()).toEqual([byIds(upTo(3))]);
    },
  );
});
