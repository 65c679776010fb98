import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { callsOf, startDemoService, still, tokenOf } from "../support/demo-gateway.ts";
import { sortedErrorsOf } from "../support/errors.ts";
import { startFake, startRecords, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { operation, VARIABLES, withoutPorts } from "../support/random-operations.ts";

const upTo = (last: number) => Array.from({ length: last }, (_, index) => `${index + 1}`);

const row = (id: string) => ({
  id: Number(id),
  unique_name: `ada.mnist.builds.${id}`,
  last_status: "succeeded",
});
const rowsOf = (ids: readonly string[]): Told => ({
  json: { count: ids.length, next: null, previous: null, results: ids.map(row) },
});
const whole = (id: string): Told => ({ json: { ...row(id), commit: `c${id}`, dockerfile: null } });

const REFUSED: Told = { json: ["key `id` is not supported by query manager `build`."], status: 400 };
const UNKNOWN: Told = {
  text: "<!DOCTYPE html><title>Not found</title>",
  status: 404,
  headers: { "content-type": "text/html" },
};

/** What a service does differently: with a list of builds by their ids, and with a build alone. */
interface Ways {
  readonly byIds?: (ids: readonly string[], token: string) => Told | undefined;
  readonly alone?: (id: string) => Told | undefined;
  readonly env?: Record<string, string>;
}

/** A service whose experiment n has the build n of its own, behind a gateway that may batch. */
async function startBuilds({ byIds = rowsOf, alone = whole, env = {} }: Ways = {}) {
  const service = await startFake(({ path, headers }) => {
    const { pathname, searchParams } = new URL(path, "http://service");
    const [, project = "", kind, id] = /^\/api\/v1\/ada\/(\w+)\/(\w+)(?:\/(\d+)\/)?$/.exec(pathname) ?? [];
    if (kind === "builds" && id) return alone(id);
    if (kind === "builds") {
      return byIds(
        searchParams.get("query")?.replace("id:", "").split("|") ?? [],
        `${headers["authorization"]}`,
      );
    }
    if (kind !== "experiments") return undefined;
    const results = upTo(Number(searchParams.get("limit"))).map((each) => ({
      id: Number(each),
      build_job: `ada.${project}.builds.${each}`,
    }));
    return { json: { count: results.length, next: null, previous: null, results } };
  });
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  return {
    ...gateway,
    seen: service.seen,
    /** The requests for builds since the last look, decoded, in the order of the alphabet. */
    calls: () =>
      service
        .seen()
        .splice(0)
        .map(({ method, path }) => `${method} ${decodeURIComponent(path.replace("/api/v1/", ""))}`)
        .filter((call) => call.includes("/builds"))
        .toSorted(),
  };
}

const byIds = (ids: readonly string[], project = "mnist") =>
  `GET ada/${project}/builds?query=id:${ids.join("|")}&limit=100`;
const alone = (ids: readonly string[]) => ids.map((id) => `GET ada/mnist/builds/${id}/`).toSorted();

/** The builds of so many experiments. */
const buildsOf = (count: number, fields = "uniqueName status") =>
  `{ project(owner: "ada", name: "mnist") { experiments(first: ${count}) { nodes { buildJob { ${fields} } } } } }`;

interface Builds {
  readonly project: { readonly experiments: { readonly nodes: readonly { readonly buildJob: unknown }[] } };
}
const buildsIn = ({ data }: Answer<unknown>) =>
  // The operation above asks for nothing else.
  (data as Builds).project.experiments.nodes.map(({ buildJob }) => buildJob);
const succeeded = (id: string) => ({ uniqueName: `ada.mnist.builds.${id}`, status: "SUCCEEDED" });

describe("links of a kind", () => {
  test("are answered by one request, however many", async () => {
    const { ask, seen } = await startBuilds();
    const answer = await ask(buildsOf(50));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(50).map(succeeded));
    expect(seen().map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/v1/ada/mnist/experiments?limit=50",
      `GET /api/v1/ada/mnist/builds?query=id%3A${upTo(50).join("%7C")}&limit=100`,
    ]);
  });

  test("are answered a hundred at a time", async () => {
    const { ask, calls } = await startBuilds();
    const answer = await ask(buildsOf(250));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(250).map(succeeded));
    const ids = upTo(250);
    expect(calls()).toEqual(
      [byIds(ids.slice(0, 100)), byIds(ids.slice(100, 200)), byIds(ids.slice(200))].toSorted(),
    );
  });

  test("of which one is left over ask for that one by its own row", async () => {
    const { ask, calls } = await startBuilds();
    const answer = await ask(buildsOf(101));
    expect(buildsIn(answer)).toEqual(upTo(101).map(succeeded));
    expect(calls()).toEqual([...alone(["101"]), byIds(upTo(100))]);
  });

  test("that name one record ask for it once", async () => {
    const { ask, calls } = await startBuilds();
    await ask(buildsOf(3, "status").replace("buildJob", "again: buildJob { status } buildJob"));
    expect(calls()).toEqual([byIds(["1", "2", "3"])]);
  });

  test("that name one record of different fields ask for it once as well", async () => {
    const { ask, calls } = await startBuilds();
    const { data, errors } = await ask<object, object>(`{
      project(owner: "ada", name: "mnist") {
        a: buildJob(internalId: "1") { status }
        b: buildJob(internalId: "1") { name phase }
        c: buildJob(internalId: "2") { bookmarked }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: { a: { status: "SUCCEEDED" }, b: { name: null, phase: "SUCCEEDED" }, c: { bookmarked: null } },
    });
    // Names and bookmarks are missing in these rows although lists have them: both are read as a whole.
    expect(calls()).toEqual([...alone(["1", "2"]), byIds(["1", "2"])]);
  });

  test("of two projects take one request for each", async () => {
    const { ask, calls } = await startBuilds();
    const { errors } = await ask(`{
      mnist: project(owner: "ada", name: "mnist") { experiments(first: 3) { nodes { buildJob { status } } } }
      speech: project(owner: "ada", name: "speech") { experiments(first: 2) { nodes { buildJob { status } } } }
    }`);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual([byIds(["1", "2", "3"]), byIds(["1", "2"], "speech")]);
  });

  test.each(["commit", "uniqueName status dockerfile", "jobCount", "nodeScheduled { name }"])(
    "are asked for one by one when { %s } is wanted, which no list tells",
    async (fields) => {
      const { ask, calls } = await startBuilds();
      const { errors } = await ask(buildsOf(4, fields));
      expect(errors).toBeUndefined();
      expect(calls()).toEqual(alone(upTo(4)));
    },
  );

  test("cost nothing when only what their names tell is wanted", async () => {
    const { ask, calls } = await startBuilds();
    const answer = await ask(buildsOf(4, "id internalId uniqueName project { name }"));
    expect(buildsIn(answer)).toMatchObject(upTo(4).map((internalId) => ({ internalId })));
    expect(calls()).toEqual([]);
  });

  test("count as one request against the budget of the operation", async () => {
    const { ask } = await startBuilds({ env: { MAX_UPSTREAM_REQUESTS: "2" } });
    const answer = await ask(buildsOf(50));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(50).map(succeeded));
  });

  test("are asked for one by one on a server without the filter", async () => {
    const { ask, calls } = await startBuilds({ env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    const answer = await ask(buildsOf(50));
    expect(buildsIn(answer)).toEqual(upTo(50).map(succeeded));
    expect(calls()).toEqual(alone(upTo(50)));
  });
});

describe("a record that is wanted in part and as a whole", () => {
  test("at the same time is read once, as a whole", async () => {
    const { ask, calls } = await startBuilds();
    const { data, errors } = await ask<object, object>(`{
      project(owner: "ada", name: "mnist") {
        a: buildJob(internalId: "1") { status }
        b: buildJob(internalId: "1") { commit }
        c: buildJob(internalId: "2") { status }
        d: buildJob(internalId: "3") { status }
      }
    }`);
    expect(errors).toBeUndefined();
    const status = { status: "SUCCEEDED" };
    expect(data).toEqual({ project: { a: status, b: { commit: "c1" }, c: status, d: status } });
    expect(calls()).toEqual([...alone(["1"]), byIds(["2", "3"])]);
  });

  test("and first as a whole is read once", async () => {
    const { ask, calls } = await startBuilds();
    const { errors } = await ask(`{
      project(owner: "ada", name: "mnist") {
        buildJob(internalId: "1") { commit }
        experiments(first: 3) { nodes { buildJob { status } } }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual([...alone(["1"]), byIds(["2", "3"])]);
  });
});

describe("an id that does not come back", () => {
  const withoutTwo: Ways = {
    byIds: (ids) => rowsOf(ids.filter((id) => id !== "2")),
    alone: (id) => (id === "2" ? undefined : whole(id)),
  };

  test("is asked for alone, so that its error is the true one; the others are there", async () => {
    const { ask, calls } = await startBuilds(withoutTwo);
    const answer = await ask(buildsOf(3));
    expect(buildsIn(answer)).toEqual([succeeded("1"), null, succeeded("3")]);
    expect(sortedErrorsOf(answer)).toEqual([
      {
        at: "project.experiments.nodes.1.buildJob",
        code: "NOT_FOUND",
        message: "Not found.",
        reference: "ada.mnist.builds.2",
        upstream: { method: "GET", route: "{owner}/{project}/builds/{id}/", status: 404 },
      },
    ]);
    expect(calls()).toEqual([...alone(["2"]), byIds(["1", "2", "3"])]);
  });

  test("and is there all the same is what it is", async () => {
    const { ask } = await startBuilds({ byIds: (ids) => rowsOf(ids.slice(1)) });
    expect(buildsIn(await ask(buildsOf(3)))).toEqual(upTo(3).map(succeeded));
  });

  test("is not taken from a server that overlooks the filter", async () => {
    const { ask, calls } = await startBuilds({ byIds: () => rowsOf(["7", "8", "9", "2"]) });
    expect(buildsIn(await ask(buildsOf(3)))).toEqual(upTo(3).map(succeeded));
    expect(calls()).toEqual([...alone(["1", "3"]), byIds(["1", "2", "3"])]);
  });
});

describe("a row of a list", () => {
  test("that lacks what it should have is completed: absent is not null", async () => {
    const { ask, calls } = await startBuilds({
      byIds: (ids) => ({
        json: { results: ids.map((id) => (id === "2" ? { id: 2, name: null } : { ...row(id), name: null })) },
      }),
    });
    const answer = await ask(buildsOf(3, "status name"));
    expect(answer.errors).toBeUndefined();
    expect(buildsIn(answer)).toEqual(upTo(3).map(() => ({ status: "SUCCEEDED", name: null })));
    expect(calls()).toEqual([...alone(["2"]), byIds(["1", "2", "3"])]);
  });
});

describe("a server that does not take the filter", () => {
  test.each([
    ["refuses it", REFUSED],
    ["does not know the list", UNKNOWN],
  ])("because it %s is asked one by one, now and from then on", async (_, told) => {
    const { ask, calls } = await startBuilds({ byIds: () => told });
    const first = await ask(buildsOf(3));
    expect(first.errors).toBeUndefined();
    expect(buildsIn(first)).toEqual(upTo(3).map(succeeded));
    expect(calls()).toEqual([...alone(upTo(3)), byIds(upTo(3))]);

    const second = await ask(buildsOf(3));
    expect(second).toEqual(first);
    expect(calls()).toEqual(alone(upTo(3)));
  });

  test("is asked for no record twice, although the whole of it is wanted elsewhere", async () => {
    const { ask, calls } = await startBuilds({ byIds: () => REFUSED });
    const { data, errors } = await ask<object, object>(`{
      project(owner: "ada", name: "mnist") {
        a: buildJob(internalId: "1") { status }
        b: buildJob(internalId: "2") { status }
        experiments(first: 2) { nodes { buildJob { commit } } }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({
      project: { experiments: { nodes: [{ buildJob: { commit: "c1" } }, { buildJob: { commit: "c2" } }] } },
    });
    expect(calls()).toEqual([...alone(["1", "2"]), byIds(["1", "2"])]);
  });

  test("a filter of the caller's own that is refused says nothing of it", async () => {
    const { ask, calls } = await startBuilds({
      byIds: (ids) => (ids.includes("nonsense:1") ? REFUSED : rowsOf(ids)),
    });
    await ask(`{ project(owner: "ada", name: "mnist") { buildJobs(query: "nonsense:1") { totalCount } } }`);
    calls();
    await ask(buildsOf(3));
    expect(calls()).toEqual([byIds(upTo(3))]);
  });
});

describe("a list that fails", () => {
  test.each<[string, Told]>([
    ["a crash", { text: "<h1>Server Error</h1>", status: 500, headers: { "content-type": "text/html" } }],
    ["no JSON", { text: "<html>" }],
    ["no list", { json: { results: "none" } }],
    ["rows that are none", { json: { results: [null, {}] } }],
  ])("with %s is made up for one by one, and tried again in the next request", async (_, told) => {
    const { ask, calls } = await startBuilds({ byIds: () => told });
    for (let time = 0; time < 2; time++) {
      const answer = await ask(buildsOf(3));
      expect(answer.errors).toBeUndefined();
      expect(buildsIn(answer)).toEqual(upTo(3).map(succeeded));
      expect(calls()).toEqual([...alone(upTo(3)), byIds(upTo(3))]);
    }
  });

  test("because the caller may not read it is FORBIDDEN once for all links, with one request", async () => {
    const message = "You do not have permission to perform this action.";
    const { ask, calls } = await startBuilds({ byIds: () => ({ json: { detail: message }, status: 403 }) });
    const answer = await ask(buildsOf(3));
    expect(buildsIn(answer)).toEqual([null, null, null]);
    expect(sortedErrorsOf(answer)).toEqual([
      {
        at: "project.experiments.nodes.0.buildJob",
        code: "FORBIDDEN",
        message,
        upstream: { method: "GET", route: "{owner}/{project}/builds", status: 403 },
        paths: [0, 1, 2].map((index) => ["project", "experiments", "nodes", index, "buildJob"]),
      },
    ]);
    expect(calls()).toEqual([byIds(upTo(3))]);
  });
});

test("entities are found by their ids, those of a kind and project together, in order, each failing alone", async () => {
  const demo = await startDemoService();
  const gateway = await startGateway({
    upstream: demo,
    token: tokenOf(demo, "grace"),
    env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
  });
  const names = [
    "Experiment:ada/mnist/42",
    "Job:ada/mnist/1",
    "Experiment:ada/mnist/999",
    "Experiment:ada/mnist/9",
    "Group:ada/mnist/1",
    "Experiment:grace/vision/8",
    "Job:ada/mnist/3",
    "Job:ada/speech/8",
    "Group:ada/mnist/2",
  ];
  const answer = await gateway.ask<{ entities: readonly unknown[] }, object>(
    `query ($ids: [ID!]!) { entities(ids: $ids) { ... on Run { uniqueName rawStatus } } }`,
    { ids: names.map(globalId) },
  );
  expect(answer.data.entities).toEqual([
    { uniqueName: "ada.mnist.42", rawStatus: "succeeded" },
    { uniqueName: "ada.mnist.jobs.1", rawStatus: "succeeded" },
    null,
    { uniqueName: "ada.mnist.1.9", rawStatus: "succeeded" },
    { uniqueName: "ada.mnist.1", rawStatus: "running" },
    { uniqueName: "grace.vision.8", rawStatus: "succeeded" },
    { uniqueName: "ada.mnist.jobs.3", rawStatus: "failed" },
    null,
    { uniqueName: "ada.mnist.2", rawStatus: "running" },
  ]);
  expect(sortedErrorsOf(answer)).toMatchObject([
    { at: "entities.2", code: "NOT_FOUND" },
    { at: "entities.7", code: "FORBIDDEN" },
  ]);
  expect(callsOf(demo).map(decodeURIComponent)).toEqual([
    "GET ada/mnist/experiments/999/",
    "GET ada/mnist/experiments?query=id:42|999|9&limit=100",
    "GET ada/mnist/groups?query=id:1|2&limit=100",
    "GET ada/mnist/jobs?query=id:1|3&limit=100",
    "GET ada/speech/jobs/8/",
    "GET grace/vision/experiments/8/",
  ]);
});

describe("metrics of the experiments of a group", () => {
  /** The demo behind a gateway that may batch and one that may not. */
  async function startBoth() {
    const demo = await startDemoService({ now: still });
    const token = tokenOf(demo, "ada");
    const batching = await startGateway({ upstream: demo, token, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const single = await startGateway({ upstream: demo, token, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    return { batching, single, calls: () => callsOf(demo) };
  }

  test.each([
    [
      "a page of each",
      "metrics(first: 2) { totalCount pageInfo { hasNextPage } nodes { internalId createdAt values { name value } } }",
    ],
    ["all of each", "metrics { totalCount nodes { internalId values { name value } } }"],
    ["as series", 'metricSeries(names: ["loss"], maxPoints: 10) { name totalPoints times values }'],
    ["in both forms", 'metrics(first: 1) { nodes { value(name: "loss") } } metricSeries { name values }'],
  ])("take one request, %s", async (_, fields) => {
    const { batching, single, calls } = await startBoth();
    const document = `{ group(id: "ada.mnist.1") { experiments(first: 24) { nodes { uniqueName ${fields} } } } }`;
    const answer = await batching.ask(document);
    expect(calls()).toEqual(["GET ada/mnist/experiments?group=1&limit=24", "GET ada/mnist/groups/1/metrics"]);
    expect(answer.errors).toBeUndefined();
    expect(answer).toEqual(await single.ask(document));
    expect(calls().length).toBeGreaterThanOrEqual(25);
  });

  test("are empty where nothing was recorded", async () => {
    const { batching, calls } = await startBoth();
    const { data } = await batching.ask<{ group: { experiments: { nodes: readonly object[] } } }, object>(`{
      group(id: "ada.mnist.1") {
        experiments(query: "id:46|45") {
          nodes {
            internalId
            metrics(first: 1) { totalCount nodes { internalId } pageInfo { hasNextPage endCursor } }
            metricSeries { name }
          }
        }
      }
    }`);
    expect(data.group.experiments.nodes).toContainEqual({
      internalId: "46",
      metrics: { totalCount: 0, nodes: [], pageInfo: { hasNextPage: false, endCursor: null } },
      metricSeries: [],
    });
    expect(calls()).toHaveLength(2);
  });

  test("behind a cursor are asked for alone, and go on where the page of the group ended", async () => {
    const { batching, single, calls } = await startBoth();
    const page = `query ($after: String) { group(id: "ada.mnist.1") { experiments(query: "id:9|10") { nodes {
      metrics(first: 3, after: $after) { nodes { internalId } pageInfo { endCursor hasNextPage } }
    } } } }`;
    interface Metrics {
      readonly group: {
        readonly experiments: { readonly nodes: readonly { metrics: { pageInfo: { endCursor: string } } }[] };
      };
    }
    const first = await batching.ask<Metrics, object>(page);
    expect(first).toEqual(await single.ask(page));
    calls();
    const after = first.data.group.experiments.nodes[0]?.metrics.pageInfo.endCursor;
    const second = await batching.ask(page, { after });
    expect(calls()).toEqual([
      "GET ada/mnist/experiments/10/metrics?limit=3&offset=3",
      "GET ada/mnist/experiments/9/metrics?limit=3&offset=3",
      "GET ada/mnist/experiments?group=1&query=id%3A9%7C10",
    ]);
    expect(second).toEqual(await single.ask(page, { after }));
  });

  test("of several groups take one request for each; those of no group are asked for alone", async () => {
    const { batching, single, calls } = await startBoth();
    const document = `{ project(owner: "ada", name: "mnist") {
      experiments(query: "id:1|9|10|42|47|48") { nodes { uniqueName metrics(first: 1) { totalCount } } }
    } }`;
    const answer = await batching.ask(document);
    expect(calls()).toEqual([
      "GET ada/mnist/experiments/1/metrics?limit=1",
      "GET ada/mnist/experiments/42/metrics?limit=1",
      "GET ada/mnist/experiments?query=id%3A1%7C9%7C10%7C42%7C47%7C48",
      "GET ada/mnist/groups/1/metrics",
      "GET ada/mnist/groups/2/metrics",
    ]);
    expect(answer).toEqual(await single.ask(document));
  });

  test("are read for one experiment by its own row", async () => {
    const { batching, calls } = await startBoth();
    await batching.ask(
      `{ experiment(id: "ada.mnist.1.9") { status experimentGroup { id } metrics { totalCount } } }`,
    );
    expect(calls()).toEqual(["GET ada/mnist/experiments/9/", "GET ada/mnist/experiments/9/metrics"]);
  });

  /** A service with the experiments 1 and 2 in group 5, whose list of the group's metrics answers as told. */
  async function startGroup(told: Told) {
    const recorded = (id: number, experiment: number) => ({ id, experiment, values: { loss: id } });
    const service = await startFake(({ path }) => {
      if (path.endsWith("/groups/5/metrics")) return told;
      const experiment = Number(/experiments\/(\d)\/metrics/.exec(path)?.[1] ?? 0);
      const results = experiment
        ? [recorded(experiment, experiment), recorded(10 + experiment, experiment)]
        : [1, 2].map((id) => ({ id, experiment_group: "ada.mnist.5" }));
      return { json: { count: 2, next: null, previous: null, results } };
    });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    return {
      ...gateway,
      calls: () =>
        service
          .seen()
          .splice(0)
          .map(({ path }) => path.replace("/api/v1/ada/mnist/", ""))
          .toSorted(),
    };
  }
  const series = `{ group(id: "ada.mnist.5") { experiments { nodes { metricSeries { totalPoints values } } } } }`;
  const wholeSeries = {
    group: {
      experiments: {
        nodes: [
          { metricSeries: [{ totalPoints: 2, values: [1, 11] }] },
          { metricSeries: [{ totalPoints: 2, values: [2, 12] }] },
        ],
      },
    },
  };
  const first = [
    { id: 1, experiment: 1, values: { loss: 1 } },
    { id: 2, experiment: 2, values: { loss: 2 } },
  ];

  test.each<[string, Told]>([
    [
      "with a next page tells of no experiment that it has no more",
      {
        json: { count: 4, next: "http://service/api/v1/ada/mnist/groups/5/metrics?offset=2", results: first },
      },
    ],
    [
      "that does not say whose they are tells nothing",
      { json: { count: 2, results: first.map(({ id, values }) => ({ id, values })) } },
    ],
    ["that the server does not know", UNKNOWN],
    ["that cannot be read", { text: "<html>" }],
  ])("a list of a group %s: each experiment is asked alone", async (_, told) => {
    const { ask, calls } = await startGroup(told);
    const { data, errors } = await ask(series);
    expect(errors).toBeUndefined();
    expect(data).toEqual(wholeSeries);
    expect(calls()).toEqual([
      "experiments/1/metrics",
      "experiments/2/metrics",
      "experiments?group=5",
      "groups/5/metrics",
    ]);
  });

  test("a server without the list of a group is asked one by one from then on", async () => {
    const { ask, calls } = await startGroup(UNKNOWN);
    await ask(series);
    calls();
    expect(await ask(series)).toEqual({ data: wholeSeries });
    expect(calls()).toEqual(["experiments/1/metrics", "experiments/2/metrics", "experiments?group=5"]);
  });

  test("are read by their own rows where the service's document is all that is known", async () => {
    const service = await startRecords({
      "ada/mnist/experiments/1/metrics": { count: 0, results: [] },
      "ada/mnist/experiments/2/metrics": { count: 0, results: [] },
    });
    const { ask } = await startGateway({ upstream: service });
    await ask(`{ project(owner: "ada", name: "mnist") {
      a: experiment(internalId: "1") { metrics { totalCount } }
      b: experiment(internalId: "2") { metrics { totalCount } }
    } }`);
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments/1/metrics",
      "GET ada/mnist/experiments/2/metrics",
    ]);
  });
});

describe("callers", () => {
  test("never share an answer: each sees what its own token sees", async () => {
    const { ask, seen } = await startBuilds({
      byIds: (ids, token) => ({ json: { results: ids.map((id) => ({ ...row(id), name: token })) } }),
    });
    const tokens = Array.from({ length: 20 }, (_, index) => `token-of-${index}`);
    const answers = await Promise.all(tokens.map((token) => ask(buildsOf(5, "name"), {}, { token })));
    for (const [index, answer] of answers.entries()) {
      expect(buildsIn(answer)).toEqual(upTo(5).map(() => ({ name: `token token-of-${index}` })));
    }
    expect(seen()).toHaveLength(40);
  });

  test("one without rights is refused beside one that has them", async () => {
    const demo = await startDemoService();
    const { ask } = await startGateway({ upstream: demo, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const document = `{ project(owner: "ada", name: "speech") {
      a: experiment(internalId: "6") { status buildJob { rawStatus } }
      b: experiment(internalId: "34") { status buildJob { rawStatus } }
    } }`;
    const [ada, linus, again] = await Promise.all(
      ["ada", "linus", "ada"].map((name) => ask(document, {}, { token: tokenOf(demo, name) })),
    );
    const run = { status: "SUCCEEDED", buildJob: { rawStatus: "succeeded" } };
    expect(ada).toEqual({ data: { project: { a: run, b: run } } });
    expect(again).toEqual(ada);
    expect(linus?.data).toEqual({ project: { a: null, b: null } });
    expect(linus?.errors).toMatchObject([
      {
        path: ["project", "a"],
        extensions: {
          code: "FORBIDDEN",
          paths: [
            ["project", "a"],
            ["project", "b"],
          ],
        },
      },
    ]);
  });
});

const entities = (...names: readonly string[]) => `entities(ids: ${JSON.stringify(names.map(globalId))})`;

const MATERIAL = {
  roots: [
    ['project(owner: "ada", name: "mnist")', "Project"],
    ['project(owner: "grace", name: "vision")', "Project"],
    ['group(id: "ada.mnist.1")', "Group"],
    ['group(id: "ada.mnist.2")', "Group"],
    ["viewer", "User"],
    [entities("Experiment:ada/mnist/42", "Experiment:ada/mnist/9", "Experiment:ada/mnist/999"), "Experiment"],
    [entities("BuildJob:ada/mnist/1", "BuildJob:ada/mnist/2", "BuildJob:ada/speech/7"), "BuildJob"],
    [entities("Job:ada/mnist/1", "Job:ada/mnist/4", "Job:ada/mnist/5"), "Job"],
  ],
  // What differs from one moment to the next, what needs the number of a job, what the smaller server lacks.
  leftOut: new Set(["durationSeconds", "Experiment.job", "ExperimentJob.logs"]),
  depth: 6,
} as const;

/** The requests that would ask one by one for what this one asks for together; none when it is no such request. */
function aloneOf(call: string): string[] {
  const [, list, ids] = /^(.*)\?query=id:([\d|]+)&limit=100$/.exec(decodeURIComponent(call)) ?? [];
  return ids?.split("|").map((each) => `${list}/${each}/`) ?? [];
}

test("batching changes no answer and no error, and costs a request only where records are wanted again", async () => {
  const demo = await startDemoService({ now: still });
  const token = tokenOf(demo, "ada");
  const wide = { MAX_UPSTREAM_REQUESTS: "100000", MAX_DEPTH: "40" };
  const batching = await startGateway({
    upstream: demo,
    token,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...wide },
  });
  const single = await startGateway({
    upstream: demo,
    token,
    env: { UPSTREAM_PROFILE: "polyaxon-0.2", ...wide },
  });

  let batches = 0;

  await fc.assert(
    fc.asyncProperty(operation(MATERIAL), async (document) => {
      const together = await batching.ask<object, object>(document, VARIABLES);
      const asked = callsOf(demo);
      const apart = await single.ask<object, object>(document, VARIABLES);
      const askedApart = callsOf(demo);
      expect(withoutPorts(together.data)).toEqual(withoutPorts(apart.data));
      expect(sortedErrorsOf(together)).toEqual(sortedErrorsOf(apart));
      expect(new Set(asked).size).toBe(asked.length);
      // Records that came in part and are then wanted whole, or that did not come at all, are asked for alone as
      // well. A batch of nothing but such ones is a request too many; no other is.
      const inVain = asked.filter((call) => {
        const records = aloneOf(call);
        return records.length > 0 && records.every((record) => asked.includes(record));
      });
      expect(asked.length).toBeLessThanOrEqual(askedApart.length + inVain.length);
      batches += asked.filter((call) => !askedApart.includes(call)).length;
    }),
    { numRuns: cases(40, 200) },
  );
  expect(batches).toBeGreaterThan(0);
});
