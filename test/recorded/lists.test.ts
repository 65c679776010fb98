import { describe, expect, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type Line, lineOf, plain, readRecording, startReplay } from "../support/replay.ts";

type Row = Readonly<Record<string, unknown>>;

const RUN = `internalId uuid uniqueName name description rawStatus createdAt updatedAt startedAt finishedAt tags bookmarked
  user { username }`;
const run = (row: Row) => ({
  internalId: `${row["id"]}`,
  uuid: row["uuid"],
  uniqueName: row["unique_name"],
  name: row["name"],
  description: row["description"],
  rawStatus: row["last_status"],
  createdAt: row["created_at"],
  updatedAt: row["updated_at"],
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
  tags: row["tags"],
  bookmarked: row["bookmarked"],
  user: { username: row["user"] },
});
const named = (name: unknown) => (name === null ? null : { uniqueName: name });
const values = (recorded: object) =>
  Object.entries(recorded)
    .map(([name, raw]) => ({ name, raw }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

const STATUS = {
  field: "statuses",
  fields: "internalId uuid rawStatus createdAt message",
  node: (row: Row) => ({
    internalId: `${row["id"]}`,
    uuid: row["uuid"],
    rawStatus: row["status"],
    createdAt: row["created_at"],
    message: row["message"],
  }),
};

/** A list of the service: its path, the field that it is of what, what is selected of its items, and what that is. */
interface Listing {
  readonly path: RegExp;
  readonly route: string;
  readonly of: (...segments: string[]) => readonly [root: string, type: string];
  readonly field: string;
  readonly fields: string;
  readonly node: (row: Row) => unknown;
  /** Whether it takes an order and a filter. */
  readonly isOfRuns?: boolean;
}

/** A project of the recorded users; the same shape under another first word is something else than a project. */
const P = "(alice|bob)/([-\\w]+)";
const project = (owner = "", name = "") =>
  [`project(owner: "${owner}", name: "${name}")`, "Project"] as const;
const experiment = (owner = "", name = "", id = "") =>
  [`experiment(id: "${owner}.${name}.${id}")`, "Experiment"] as const;

const LISTINGS: readonly Listing[] = [
  {
    path: /^(alice|bob|nobody)$/,
    route: "{owner}",
    of: (owner) => [`entity(id: "${globalId(`User:${owner}`)}")`, "User"],
    field: "projects",
    fields: "uniqueName name",
    node: (row) => ({ uniqueName: row["unique_name"], name: row["name"] }),
  },
  {
    path: new RegExp(`^${P}/experiments$`),
    route: "{owner}/{project}/experiments",
    of: project,
    field: "experiments",
    fields: `${RUN} declarations original { uniqueName } experimentGroup { uniqueName } buildJob { uniqueName }
      lastMetric { name raw }`,
    node: (row) => ({
      ...run(row),
      declarations: row["declarations"],
      original: named(row["original"]),
      experimentGroup: named(row["experiment_group"]),
      buildJob: named(row["build_job"]),
      lastMetric: row["last_metric"] && values(row["last_metric"]),
    }),
    isOfRuns: true,
  },
  {
    path: new RegExp(`^${P}/jobs$`),
    route: "{owner}/{project}/jobs",
    of: project,
    field: "jobs",
    fields: `${RUN} buildJob { uniqueName }`,
    node: (row) => ({ ...run(row), buildJob: named(row["build_job"]) }),
    isOfRuns: true,
  },
  {
    path: new RegExp(`^${P}/builds$`),
    route: "{owner}/{project}/builds",
    of: project,
    field: "buildJobs",
    fields: RUN,
    node: run,
    isOfRuns: true,
  },
  {
    path: new RegExp(`^${P}/groups$`),
    route: "{owner}/{project}/groups",
    of: project,
    field: "groups",
    fields: `${RUN} concurrency searchAlgorithm`,
    node: (row) => ({
      ...run(row),
      concurrency: row["concurrency"],
      searchAlgorithm: row["search_algorithm"],
    }),
    isOfRuns: true,
  },
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/statuses$`),
    route: "{owner}/{project}/experiments/{id}/statuses",
    of: experiment,
    ...STATUS,
  },
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/metrics$`),
    route: "{owner}/{project}/experiments/{id}/metrics",
    of: experiment,
    field: "metrics",
    fields: "internalId createdAt values { name raw }",
    node: (row) => ({
      internalId: `${row["id"]}`,
      createdAt: row["created_at"],
      values: values(Object(row["values"])),
    }),
  },
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/jobs$`),
    route: "{owner}/{project}/experiments/{id}/jobs",
    of: experiment,
    field: "jobs",
    fields: "internalId uniqueName role rawStatus startedAt nodeScheduled { name } resources",
    node: (row) => ({
      internalId: `${row["id"]}`,
      uniqueName: row["unique_name"],
      role: row["role"],
      rawStatus: row["last_status"],
      startedAt: row["started_at"],
      nodeScheduled: row["node_scheduled"] && { name: row["node_scheduled"] },
      resources: row["resources"],
    }),
  },
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/jobs/(\\d+)/statuses$`),
    route: "{owner}/{project}/experiments/{experiment}/jobs/{id}/statuses/",
    of: (owner, name, id, job) => [
      `experimentJob(id: "${owner}.${name}.${id}.${job}.master")`,
      "ExperimentJob",
    ],
    ...STATUS,
  },
  {
    path: new RegExp(`^${P}/jobs/(\\d+)/statuses$`),
    route: "{owner}/{project}/jobs/{id}/statuses/",
    of: (owner, name, id) => [`job(id: "${owner}.${name}.jobs.${id}")`, "Job"],
    ...STATUS,
  },
  {
    path: new RegExp(`^${P}/builds/(\\d+)/statuses$`),
    route: "{owner}/{project}/builds/{id}/statuses",
    of: (owner, name, id) => [`buildJob(id: "${owner}.${name}.builds.${id}")`, "BuildJob"],
    ...STATUS,
  },
  {
    path: new RegExp(`^${P}/groups/(\\d+)/statuses$`),
    route: "{owner}/{project}/groups/{id}/statuses",
    of: (owner, name, id) => [`group(id: "${owner}.${name}.${id}")`, "Group"],
    ...STATUS,
  },
];

const below = (path: string) => plain(path)[0].replace("/api/v1/", "");
const listingOf = ({ path }: Line) => LISTINGS.find((listing) => listing.path.test(below(path)));
const parametersOf = ({ path }: Line) => new URLSearchParams(path.split("?")[1]);

/** Every recorded request for a list. */
const reads = readRecording("0.2.0-reads").filter((line) => line.method === "GET" && listingOf(line));

const SORTS: Readonly<Record<string, string>> = {
  "-updated_at": "UPDATED_DESC",
  "-created_at": "CREATED_DESC",
  created_at: "CREATED_ASC",
};

/** What of a recorded request the schema has no words for; null when it can be asked for. */
function unsaid(line: Line): string | null {
  const { Authorization: token, Accept: accepted } = line.headers;
  if (token === undefined) return "nothing is sent without a token";
  if (accepted !== undefined) return "the gateway takes JSON";
  for (const [name, value] of parametersOf(line)) {
    const isOfRuns = listingOf(line)?.isOfRuns ?? false;
    if (name === "limit" || name === "offset") {
      const most = name === "limit" ? 500 : Number.POSITIVE_INFINITY;
      if (!/^[1-9]\d*$/.test(value) || Number(value) > most)
        return "a page is 1 to 500 items behind a cursor";
    } else if (name === "sort") {
      if (!isOfRuns || !SORTS[value]) return "another order";
    } else if (name === "query") {
      if (!isOfRuns || value === "") return "no filter, or one where there is none";
    } else if (name !== "group" || !/^\d+$/.test(value)) return "another parameter";
  }
  return null;
}

const expressed = reads.filter((line) => unsaid(line) === null);

describe("release 0.2.0", () => {
  test("of 156 recorded requests for lists the schema can express 117; the others have their reasons", () => {
    expect(reads).toHaveLength(156);
    expect(expressed).toHaveLength(117);
    const others = new Map<string | null, string[]>();
    for (const line of reads) {
      const reason = unsaid(line);
      if (reason !== null) others.set(reason, [...(others.get(reason) ?? []), line.case]);
    }
    expect(Object.fromEntries(others)).toEqual({
      "nothing is sent without a token": [
        "projects list no token",
        "experiments list no token",
        "experiment statuses no token",
        "experiment metrics no token",
        "experiment jobs no token",
        "jobs list no token",
        "builds list no token",
        "groups list no token",
      ],
      "the gateway takes JSON": ["experiments list accept html", "experiments list accept xml"],
      "a page is 1 to 500 items behind a cursor": [
        "experiments list limit 0",
        "experiments list limit negative",
        "experiments list limit text",
        "experiments list offset negative",
        "experiments list limit 1000",
      ],
      "another order": [
        "projects list sort",
        "experiments list sort two",
        "experiments list sort metric",
        "experiments list sort -metric",
        "experiments list sort bogus",
        "experiment statuses sort ignored",
        "experiment metrics sort ignored",
        "experiment jobs sort ignored",
        "jobs list sort bogus",
        "builds list sort bogus",
        "groups list sort bogus",
      ],
      "no filter, or one where there is none": ["projects list query", "experiments list query empty"],
      "another parameter": [
        "experiments list page param ignored",
        "experiments list ordering param ignored",
        "experiments list group filter text",
        "experiments list independent",
        "experiments list independent and group",
        "experiments list independent bad",
        "experiments list metrics only",
        "experiments list declarations only",
        "experiments list all",
        "experiments list format json",
        "experiments list format bogus",
      ],
    });
  });

  /** A cursor behind so many items of a list, given by a gateway before a list that is long enough. */
  async function cursorBehind(offset: number, document: string): Promise<string> {
    const rows = Array.from({ length: offset }, (_, index) => ({ id: index + 1, name: `p${index}` }));
    const upstream = await startFake(() => ({ json: { count: offset + 1, next: null, results: rows } }));
    const { ask } = await startGateway({ upstream, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    const { data } = await ask<{ thing: { list: { pageInfo: { endCursor: string } } } }, object>(
      document.replace(/nodes \{.*\} totalCount/s, "totalCount"),
      { first: offset },
    );
    return data.thing.list.pageInfo.endCursor;
  }

  /** The operation that asks for what was recorded, and its variables. */
  async function express(line: Line, { field, fields, of, path, isOfRuns }: Listing) {
    const [, ...segments] = path.exec(below(line.path)) ?? [];
    const parameters = parametersOf(line);
    const group = parameters.get("group");
    const [root, type] =
      group === null ? of(...segments) : ([`group(id: "${segments.join(".")}.${group}")`, "Group"] as const);
    const document = `query ($first: Int, $after: String${isOfRuns ? ", $orderBy: RunOrder, $query: String" : ""}) {
      thing: ${root} {
        ... on ${type} {
          list: ${field}(first: $first, after: $after${isOfRuns ? ", orderBy: $orderBy, query: $query" : ""}) {
            nodes { ${fields} } totalCount pageInfo { hasNextPage hasPreviousPage endCursor }
          }
        }
      }
    }`;
    const limit = parameters.get("limit");
    const offset = Number(parameters.get("offset") ?? 0);
    return {
      document,
      variables: {
        ...(limit === null ? {} : { first: Number(limit) }),
        ...(offset > 0 ? { after: await cursorBehind(offset, document) } : {}),
        ...(isOfRuns ? { orderBy: SORTS[parameters.get("sort") ?? ""], query: parameters.get("query") } : {}),
      },
    };
  }

  const CODES: Readonly<Record<number, string>> = {
    400: "BAD_USER_INPUT",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    500: "UPSTREAM_ERROR",
  };

  /** What the server said, in the shapes that lists refuse with: an object, a list, an HTML page. */
  function wordsOf({ json, status }: Line): string {
    if (Array.isArray(json)) return json.join(" ");
    const { detail } = Object(json ?? {}) as { detail?: string };
    return detail ?? `The service answered ${status}.`;
  }

  const SOME_TEXT: unknown = expect.any(String);

  /** What the gateway must make of the recorded answer. */
  function expected(line: Line, { node, route }: Listing): unknown {
    const { status } = line;
    if (status !== 200) {
      // Where there is no list there is no thing; of projects the service cannot tell.
      const isThing = status === 404 && (route.includes("{id}/") || line.path.includes("group="));
      return {
        data: { thing: isThing ? null : { list: null } },
        errors: [
          {
            at: isThing ? "thing" : "thing.list",
            message: wordsOf(line),
            code: CODES[status],
            upstream: { method: "GET", route, status },
          },
        ],
      };
    }
    // Every list of every release comes in this envelope.
    const { count, next, results } = line.json as {
      count: number;
      next: string | null;
      results: readonly Row[];
    };
    return {
      data: {
        thing: {
          list: {
            nodes: results.map(node),
            totalCount: count,
            pageInfo: {
              hasNextPage: next !== null,
              hasPreviousPage: parametersOf(line).has("offset"),
              endCursor: results.length > 0 ? SOME_TEXT : null,
            },
          },
        },
      },
      errors: [],
    };
  }

  const groupOfNone = lineOf(readRecording("0.2.0-reads"), "variety group None random");

  test.each(expressed.map((line) => [line.case, line] as const))("%s", async (_, line) => {
    const listing = listingOf(line);
    if (!listing) throw new TypeError("only lists are told here");
    const { document, variables } = await express(line, listing);
    // An empty list does not show that its group is there: the group's record does.
    const record = line.case === "variety selection group experiments" ? [groupOfNone] : [];
    const upstream = await startReplay([line, ...record]);
    const token = line.headers["Authorization"]?.replace("token ", "") ?? null;
    const { ask } = await startGateway({ upstream, token, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    expect(outcomeOf(await ask(document, variables))).toEqual(expected(line, listing));
    expect(upstream.seen().map(({ method, path }) => [method, ...plain(path)])).toEqual(
      [line, ...record].map(({ path }) => ["GET", ...plain(path)]),
    );
  });

  test("the log of one job, the metrics of a group and the filter on ids are not asked for", async () => {
    const lines = readRecording("0.2.0-reads");
    const upstream = await startReplay(lines);
    const { ask } = await startGateway({
      upstream,
      token: "b".repeat(40),
      env: { UPSTREAM_PROFILE: "polyaxon-0.2" },
    });
    const { data, errors } = await ask(`{
      project(owner: "alice", name: "mnist") {
        a: experiment(internalId: "1") { name }
        b: experiment(internalId: "2") { name }
      }
      experimentJob(id: "alice.mnist.1.1.master") { role logs { text } }
    }`);
    expect(data).toEqual({
      project: { a: { name: "baseline" }, b: { name: null } },
      experimentJob: { role: "master", logs: null },
    });
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["CAPABILITY_UNAVAILABLE"]);
    expect(upstream.calls()).toEqual([
      "GET alice/mnist/experiments/1/",
      "GET alice/mnist/experiments/1/jobs/1/",
      "GET alice/mnist/experiments/2/",
    ]);
  });
});

const samples = readRecording("0.4.4-samples");
const TOKEN = "b".repeat(64);

/** The gateway in front of recorded exchanges, and no others. */
async function startSamples(names: readonly string[], besides: readonly Line[] = []) {
  const upstream = await startReplay([...besides, ...names.map((name) => lineOf(samples, name))]);
  const gateway = await startGateway({ upstream, token: TOKEN, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return {
    ...gateway,
    /** The requests since the last look, decoded, below the project. */
    calls: () =>
      upstream
        .seen()
        .splice(0)
        .map(
          ({ method, path }) =>
            `${method} ${decodeURIComponent(path).replace(/^\/api\/v1\/(alice\/mnist\/)?/, "")}`,
        )
        .toSorted(),
  };
}

/** A line that was not recorded, in the manner of one that was. */
const made = (path: string, like: Line, json: unknown = like.json): Line => ({
  ...like,
  path: `/api/v1/alice/mnist/${path}`,
  headers: { Authorization: `token ${TOKEN}` },
  json,
});

const inProject = (fields: string) => `{ project(owner: "alice", name: "mnist") { ${fields} } }`;
const IN_GROUP = `query ($after: String) { group(id: "alice.mnist.1") {
  experiments(first: 3, orderBy: CREATED_ASC, after: $after) {
    nodes { uniqueName } totalCount pageInfo { hasNextPage endCursor }
  }
} }`;
interface InGroup {
  readonly group: { readonly experiments: { readonly pageInfo: { readonly endCursor: string } } };
}

/** What is asked of release 0.4.4, by the names of its recordings. */
const STORIES: Readonly<Record<string, (name: string) => Promise<void>>> = {
  "lists experiments by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const fields = 'uniqueName rawStatus buildJob { uniqueName } lastMetricValue(name: "loss") declarations';
    expect(
      await ask(
        inProject(
          ["1", "2", "3", "10"]
            .map((id) => `e${id}: experiment(internalId: "${id}") { ${fields} }`)
            .join("\n"),
        ),
      ),
    ).toEqual({
      data: {
        project: {
          e1: {
            uniqueName: "alice.mnist.1",
            rawStatus: "succeeded",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 0.1,
            declarations: { lr: 0.01, batch_size: 64 },
          },
          e2: {
            uniqueName: "alice.mnist.2",
            rawStatus: "running",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 0.8333,
            declarations: { lr: 0.1 },
          },
          e3: {
            uniqueName: "alice.mnist.3",
            rawStatus: "failed",
            buildJob: { uniqueName: "alice.mnist.builds.2" },
            lastMetricValue: 1.25,
            declarations: null,
          },
          e10: {
            uniqueName: "alice.mnist.1.10",
            rawStatus: "succeeded",
            buildJob: { uniqueName: "alice.mnist.builds.1" },
            lastMetricValue: 1.25,
            declarations: { lr: 0.001, dropout: 0.25, activation: "relu" },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?query=id:1|2|3|10&limit=100"]);
  },

  "lists builds by ids, one of them missing": async (name) => {
    const missing = lineOf(readRecording("0.2.0-reads"), "build detail not found");
    const { ask, calls } = await startSamples([name], [made("builds/99/", missing)]);
    const { data, errors } = await ask(
      inProject(
        ["1", "2", "99"].map((id) => `b${id}: buildJob(internalId: "${id}") { rawStatus tags }`).join("\n"),
      ),
    );
    expect(data).toEqual({
      project: {
        b1: { rawStatus: "succeeded", tags: ["base"] },
        b2: { rawStatus: "failed", tags: null },
        b99: null,
      },
    });
    expect(errors).toMatchObject([
      {
        path: ["project", "b99"],
        message: "Not found.",
        extensions: {
          code: "NOT_FOUND",
          upstream: { method: "GET", route: "{owner}/{project}/builds/{id}/", status: 404 },
        },
      },
    ]);
    expect(calls()).toEqual(["GET builds/99/", "GET builds?query=id:1|2|99&limit=100"]);
  },

  "lists jobs by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        inProject(
          ["1", "5"]
            .map(
              (id) =>
                `j${id}: job(internalId: "${id}") { name status original { uniqueName } buildJob { uniqueName } }`,
            )
            .join("\n"),
        ),
      ),
    ).toEqual({
      data: {
        project: {
          j1: {
            name: "prep",
            status: "SUCCEEDED",
            original: null,
            buildJob: { uniqueName: "alice.mnist.builds.1" },
          },
          j5: {
            name: null,
            status: "CREATED",
            original: { uniqueName: "alice.mnist.jobs.1" },
            buildJob: null,
          },
        },
      },
    });
    expect(calls()).toEqual(["GET jobs?query=id:1|5&limit=100"]);
  },

  "lists groups by ids": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(
      inProject(
        ["1", "2"]
          .map(
            (id) =>
              `g${id}: group(internalId: "${id}") { name rawStatus phase tags concurrency searchAlgorithm }`,
          )
          .join("\n"),
      ),
    );
    expect(errors).toBeUndefined();
    const search = { concurrency: 3, searchAlgorithm: "random" };
    expect(data).toEqual({
      project: {
        g1: { name: "sweep", rawStatus: "done", phase: "SUCCEEDED", tags: ["search"], ...search },
        g2: { name: null, rawStatus: "running", phase: "ACTIVE", tags: null, ...search },
      },
    });
    expect(calls()).toEqual(["GET groups?query=id:1|2&limit=100"]);
  },

  "experiments of a group": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(await ask(IN_GROUP)).toEqual({
      data: {
        group: {
          experiments: {
            nodes: [10, 11, 12].map((id) => ({ uniqueName: `alice.mnist.1.${id}` })),
            totalCount: 6,
            pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?group=1&sort=created_at&limit=3"]);
  },

  "experiments of a group, second page": async (name) => {
    const { ask, calls } = await startSamples(["experiments of a group", name]);
    const { data } = await ask<InGroup, object>(IN_GROUP);
    const { endCursor } = data.group.experiments.pageInfo;
    calls();
    expect(await ask(IN_GROUP, { after: endCursor })).toEqual({
      data: {
        group: {
          experiments: {
            nodes: [13, 14, 15].map((id) => ({ uniqueName: `alice.mnist.1.${id}` })),
            totalCount: 6,
            pageInfo: { hasNextPage: false, endCursor: expect.any(String) },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?group=1&sort=created_at&limit=3&offset=3"]);
  },

  "experiments of a build": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        inProject(
          `experiments(first: 2, query: "build:1") { nodes { uniqueName status lastMetric { name } } totalCount }`,
        ),
      ),
    ).toEqual({
      data: {
        project: {
          experiments: {
            nodes: [
              { uniqueName: "alice.mnist.2.21", status: "CREATED", lastMetric: [] },
              { uniqueName: "alice.mnist.2.20", status: "SCHEDULED", lastMetric: [] },
            ],
            totalCount: 14,
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments?query=build:1&limit=2"]);
  },

  "a filter that is refused": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(inProject(`experiments(query: "nonsense:1") { totalCount }`));
    expect(data).toEqual({ project: { experiments: null } });
    expect(errors).toMatchObject([
      {
        message: "key `nonsense` is not supported by query manager `experiment`.",
        extensions: { code: "BAD_USER_INPUT", upstream: { status: 400 } },
      },
    ]);
    expect(calls()).toEqual(["GET experiments?query=nonsense:1"]);
  },

  // Recorded with a limit, which the gateway does not set: it wants the metrics of the whole group.
  "metrics of a group": async (name) => {
    const recorded = lineOf(samples, name);
    const { results } = recorded.json as { results: readonly { id: number; experiment: number }[] };
    const pageOf = (rows: readonly object[]) => ({
      count: rows.length,
      next: null,
      previous: null,
      results: rows,
    });
    const own = [10, 11, 12].map((id) =>
      made(`experiments/${id}/metrics`, recorded, pageOf(results.filter((row) => row.experiment === id))),
    );
    const document = IN_GROUP.replace("uniqueName", 'internalId metricSeries(names: ["loss"]) { values }');
    const told = {
      group: {
        experiments: {
          nodes: [
            { internalId: "10", metricSeries: [{ values: [2.5, 1.25] }] },
            { internalId: "11", metricSeries: [{ values: [2.5, 1.25] }] },
            { internalId: "12", metricSeries: [] },
          ],
        },
      },
    };

    const all = made("groups/1/metrics", recorded, pageOf(results));
    const whole = await startSamples(["experiments of a group"], [all]);
    expect((await whole.ask(document)).data).toMatchObject(told);
    expect(whole.calls()).toEqual([
      "GET experiments?group=1&sort=created_at&limit=3",
      "GET groups/1/metrics",
    ]);

    // As it came, with a next page: it does not tell that an experiment has no more.
    const part = await startSamples(["experiments of a group"], [made("groups/1/metrics", recorded), ...own]);
    expect((await part.ask(document)).data).toMatchObject(told);
    expect(part.calls()).toEqual([
      "GET experiments/10/metrics",
      "GET experiments/11/metrics",
      "GET experiments/12/metrics",
      "GET experiments?group=1&sort=created_at&limit=3",
      "GET groups/1/metrics",
    ]);
  },

  "log of a job of an experiment": async (name) => {
    const { ask, calls } = await startSamples([name]);
    const { data, errors } = await ask(
      `{ experimentJob(id: "alice.mnist.1.1.master") { logs(tailLines: 2) { lines hasMore } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      experimentJob: {
        logs: {
          lines: [
            "2026-03-01T09:06:00.000000Z epoch 6 loss=0.357",
            "2026-03-01T09:07:00.000000Z epoch 7 loss=0.312",
          ],
          hasMore: false,
        },
      },
    });
    expect(calls()).toEqual(["GET experiments/1/jobs/1/logs"]);
  },

  "projects of an owner": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        `{ project(owner: "alice", name: "mnist") { owner { projects(first: 10) { nodes { uniqueName } totalCount } } } }`,
      ),
    ).toEqual({
      data: {
        project: {
          owner: {
            projects: {
              nodes: [{ uniqueName: "alice.quick-start" }, { uniqueName: "alice.mnist" }],
              totalCount: 2,
            },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET alice?limit=10"]);
  },

  "an experiment": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(
        `{ experiment(id: "alice.mnist.1.10") { status isClone jobCount resources config { kind run { cmd } } } }`,
      ),
    ).toEqual({
      data: {
        experiment: {
          status: "SUCCEEDED",
          isClone: false,
          jobCount: 0,
          resources: null,
          config: {
            kind: "experiment",
            run: { cmd: "python train.py --lr=0.001 --dropout=0.25 --activation=relu" },
          },
        },
      },
    });
    expect(calls()).toEqual(["GET experiments/10/"]);
  },

  "a group that is done": async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask(`{ group(id: "alice.mnist.1") {
        rawStatus phase isFinished finishedAt experimentCounts { total succeeded } currentIteration
      } }`),
    ).toEqual({
      data: {
        group: {
          rawStatus: "done",
          phase: "SUCCEEDED",
          isFinished: true,
          finishedAt: null,
          experimentCounts: { total: 6, succeeded: 6 },
          currentIteration: 0,
        },
      },
    });
    expect(calls()).toEqual(["GET groups/1/"]);
  },

  cluster: async (name) => {
    const { ask, calls } = await startSamples([name]);
    expect(
      await ask("{ cluster { platformVersion { gitVersion } nodes { name sequence gpuCount } } }"),
    ).toEqual({
      data: {
        cluster: {
          platformVersion: { gitVersion: "v1.10.3" },
          nodes: [
            { name: "node-1", sequence: 1, gpuCount: 0 },
            { name: "node-2", sequence: 2, gpuCount: 0 },
            { name: "node-3", sequence: 3, gpuCount: 1 },
          ],
        },
      },
    });
    expect(calls()).toEqual(["GET cluster/"]);
  },

  "a node, as a plain user: the server fails": async (name) => {
    const { ask, calls } = await startSamples([name, "cluster"]);
    const { data, errors } = await ask(`{ node(name: "node-1") { memory kubeletVersion } }`);
    // What the cluster tells of it is there.
    expect(data).toEqual({ node: { memory: 7_843_635_200, kubeletVersion: null } });
    expect(errors).toMatchObject([
      {
        path: ["node", "kubeletVersion"],
        message: "The service answered 500.",
        extensions: { code: "UPSTREAM_ERROR", upstream: { route: "nodes/{sequence}", status: 500 } },
      },
    ]);
    expect(calls()).toEqual(["GET cluster/", "GET nodes/1"]);
  },
};

describe("release 0.4.4", () => {
  test("each of its 15 recordings has its story", () => {
    expect(Object.keys(STORIES)).toEqual(samples.map((line) => line.case));
    expect(samples).toHaveLength(15);
  });

  test.each(Object.entries(STORIES))("%s", async (name, story) => {
    expect.hasAssertions();
    await story(name);
  });
});
