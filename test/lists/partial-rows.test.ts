import { describe, expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import { startProfile } from "../support/profiles.ts";
import { inProject, startRows } from "./rows.ts";
import KINDS from "./partial-rows.json" with { type: "json" };

describe("a partial list row", () => {
  test.each(KINDS.rows)(
    "serves its own fields, and reads other fields once per record: $kind",
    async ({ kind, list, calls: listCall, within, beyond }) => {
      const { ask, calls } = await startProfile("polyaxon-0.2");
      const nodesOf = async (fields: string) => {
        const answer = await ask(
          `{ project(id: "ada.mnist") { list: ${list} { nodes { ${KINDS.everyRun} ${fields} } } } }`,
        );
        expect(answer.errors).toBeUndefined();
        return listIn(answer, "project.list").nodes;
      };
      await nodesOf(within);
      expect(calls()).toEqual([`GET ${listCall}`]);

      const nodes = await nodesOf(`${within} ${beyond}`);
      const segment = listCall.replace(/\?.*/, "");
      expect(calls()).toEqual(
        [`GET ${listCall}`, ...nodes.map(({ internalId }) => `GET ${segment}/${internalId}/`)].toSorted(),
      );

      // The rows have the same values as the records.
      const ids = nodes.map(({ id }) => id);
      const { data } = await ask<{ entities: unknown }, object>(
        `query ($ids: [ID!]!) { entities(ids: $ids) { ... on ${kind} { ${KINDS.everyRun} ${within} ${beyond} } } }`,
        { ids },
      );
      expect(nodes).toEqual(data.entities);
    },
  );

  test("keeps null keys, and reads absent keys once", async () => {
    const rows = [
      { id: 1, tags: null, resources: null },
      { id: 2, tags: ["new"] },
    ];
    const record = { id: 2, tags: ["old"], resources: { gpu: null } };
    const { ask, calls } = await startRows(rows, { UPSTREAM_PROFILE: "polyaxon-0.2" }, record);
    expect(await ask(inProject("jobs { nodes { tags resources { raw } } }"))).toEqual({
      data: {
        project: {
          jobs: {
            nodes: [
              { tags: null, resources: null },
              { tags: ["new"], resources: { raw: { gpu: null } } },
            ],
          },
        },
      },
    });
    expect(calls()).toEqual(["GET ada/mnist/jobs", "GET ada/mnist/jobs/2/"]);
  });

  test("returns null, after one read, for keys that the record lacks too", async () => {
    const { ask, calls } = await startRows([{ id: 1 }], {}, { id: 1 });
    expect(await ask(inProject("jobs { nodes { readme resources { raw } tags } }"))).toEqual({
      data: { project: { jobs: { nodes: [{ readme: null, resources: null, tags: null }] } } },
    });
    expect(calls()).toEqual(["GET ada/mnist/jobs", "GET ada/mnist/jobs/1/"]);
  });

  test("serves its own fields even if the record is gone", async () => {
    const { ask } = await startRows([{ id: 1, last_status: "running" }]);
    const answer = await ask(inProject("jobs { nodes { status resources { raw } } }"));
    expect(answer.data).toEqual({ project: { jobs: { nodes: [{ status: "RUNNING", resources: null }] } } });
    expect(errorsOf(answer)).toMatchObject([{ at: "project.jobs.nodes.0.resources", code: "NOT_FOUND" }]);
  });
});

describe("a record whose reads always fail", () => {
  const CRASH = {
    status: 500,
    text: "<h1>Server Error (500)</h1>",
    headers: { "content-type": "text/html" },
  };
  const row = { id: 7, name: "odd", last_status: "running", last_metric: { loss: "NaN" }, tags: ["a"] };

  /** A server of release 0.4 that fails for records of one kind, and lists these rows. */
  async function startCrashing(rows: readonly object[], UPSTREAM_PROFILE = "polyaxon-0.4") {
    const service = await startFake(({ path }) =>
      path.endsWith("/7/")
        ? CRASH
        : /\/(?:experiments|builds)\?/.test(path)
          ? pageOf(rows, { path })
          : undefined,
    );
    return {
      ...(await startGateway({ upstream: service, env: { UPSTREAM_PROFILE } })),
      calls: service.calls,
    };
  }
  const DETAIL = "GET ada/mnist/experiments/7/";
  const LIST = "GET ada/mnist/experiments?query=id%3A7&limit=100";
  const FIELDS = `name status tags latestMetric(name: "loss") { value }`;
  const known = { name: "odd", status: "RUNNING", tags: ["a"], latestMetric: { value: null } };
  const failed = (at: string, route = "{owner}/{project}/experiments/{id}/", more: object = {}) =>
    failure(at, "UPSTREAM_ERROR", "The service answered 500.", {
      upstream: { method: "GET", route, status: 500 },
      ...more,
    });

  test("is read from a list, with one error for fields missing there", async () => {
    const { ask, calls } = await startCrashing([row]);
    const answer = await ask(
      `{ experiment(id: "ada.mnist.7") { ${FIELDS} resources { raw } config { kind } jobCount } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: { experiment: { ...known, resources: null, config: null, jobCount: null } },
      errors: [
        failed("experiment.resources", undefined, {
          paths: ["resources", "config", "jobCount"].map((field) => ["experiment", field]),
        }),
      ],
    });
    expect(calls()).toEqual([DETAIL, LIST]);
  });

  test("is complete if its row has all selected fields", async () => {
    const { ask, calls } = await startCrashing([row]);
    const answer = await ask(`{
      experiment(id: "ada.mnist.7") { ${FIELDS} }
      run(id: "ada.mnist.builds.7") { name tags }
    }`);
    expect(answer).toEqual({ data: { experiment: known, run: { name: "odd", tags: ["a"] } } });
    expect(calls()).toEqual([
      "GET ada/mnist/builds/7/",
      "GET ada/mnist/builds?query=id%3A7&limit=100",
      DETAIL,
      LIST,
    ]);
  });

  test.each([
    ["the list lacks it", "polyaxon-0.4", [DETAIL, LIST]],
    ["no list finds it by its id", "polyaxon-0.2", [DETAIL]],
  ])("is null, with the error of its read, if %s", async (_, profile, sent) => {
    const { ask, calls } = await startCrashing([], profile);
    expect(outcomeOf(await ask(`{ experiment(id: "ada.mnist.7") { name config { kind } } }`))).toEqual({
      data: { experiment: null },
      errors: [failed("experiment")],
    });
    expect(calls()).toEqual(sent);
  });
});
