import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../src/config.ts";
import { cases } from "../support/cases.ts";
import { startDemoGateway, still, tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

type Profile = "document" | "polyaxon-0.2" | "polyaxon-0.4";
const POLYAXON: readonly Profile[] = ["polyaxon-0.2", "polyaxon-0.4"];

/** The demo, standing still, behind a gateway with a profile. */
const startProfile = (profile: Profile = "polyaxon-0.4", env: Record<string, string> = {}) => {
  return startDemoGateway({ now: still, env: { UPSTREAM_PROFILE: profile, ...env } });
};

/** The lists: what they are a field of, what names an item, and where the service has them, with parameters. */
const LISTS = {
  "Project.experiments": [
    'project(owner: "ada", name: "mnist")',
    "experiments",
    "internalId",
    "ada/mnist/experiments?",
  ],
  "Project.jobs": ['project(owner: "ada", name: "mnist")', "jobs", "internalId", "ada/mnist/jobs?"],
  "Project.buildJobs": [
    'project(owner: "ada", name: "mnist")',
    "buildJobs",
    "internalId",
    "ada/mnist/builds?",
  ],
  "Project.groups": ['project(owner: "ada", name: "mnist")', "groups", "internalId", "ada/mnist/groups?"],
  "Group.experiments": [
    'group(id: "ada.mnist.1")',
    "experiments",
    "internalId",
    "ada/mnist/experiments?group=1&",
  ],
  "User.projects": ['project(owner: "ada", name: "mnist") { owner', "projects", "name", "ada?"],
} as const;
type List = keyof typeof LISTS;
const NAMES = Object.keys(LISTS) as List[];

interface Page {
  readonly nodes: readonly { readonly key: string }[];
  readonly totalCount: number | null;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly endCursor: string | null;
  };
}

/** An operation on one list, with `$first` and `$after`. */
function pageOf(list: List): string {
  const [of, field, key] = LISTS[list];
  return `query ($first: Int, $after: String) {
    thing: ${of} {
      page: ${field}(first: $first, after: $after) {
        nodes { key: ${key} }
        totalCount
        pageInfo { hasNextPage hasPreviousPage endCursor }
      }
    ${of.includes("{") ? "} }" : "}"}
  }`;
}

/** A page that must be there, its items by what names them. */
function pageIn({ data, errors }: Answer<unknown>) {
  const { thing } = data as { thing: { page?: Page; owner?: { page: Page } } };
  const page = thing.owner?.page ?? thing.page;
  if (!page) throw new TypeError(`no page: ${JSON.stringify(errors)}`);
  const { pageInfo, totalCount, nodes } = page;
  return { keys: nodes.map(({ key }) => key), totalCount, ...pageInfo };
}

/** `GET ada/mnist/jobs?limit=2` for a list and the parameters of a page. */
const callTo = (list: List, parameters: string) => `GET ${LISTS[list][3]}${parameters}`.replace(/[?&]$/, "");

describe("a list of runs or projects", () => {
  test.each(NAMES)("%s without `first` is the server's own page, in one request", async (list) => {
    const { ask, calls } = await startProfile();
    const page = pageIn(await ask(pageOf(list), {}));
    expect(calls()).toEqual([callTo(list, "")]);
    expect(page.keys).toHaveLength(Math.min(20, page.totalCount ?? 0));
    expect(page).toMatchObject({ hasNextPage: (page.totalCount ?? 0) > 20, hasPreviousPage: false });
  });

  test.each(NAMES)("%s takes one request for `first: n`, and one behind its cursor", async (list) => {
    const { ask, calls } = await startProfile();
    const whole = pageIn(await ask(pageOf(list), { first: 500 }));
    expect(calls()).toEqual([callTo(list, "limit=500")]);
    expect(whole.keys).toHaveLength(whole.totalCount ?? 0);
    expect(whole.keys.length).toBeGreaterThan(1);

    const first = pageIn(await ask(pageOf(list), { first: 1 }));
    expect(calls()).toEqual([callTo(list, "limit=1")]);
    expect(first).toMatchObject({ hasNextPage: true, hasPreviousPage: false, totalCount: whole.totalCount });

    const rest = pageIn(await ask(pageOf(list), { first: 60, after: first.endCursor }));
    expect(calls()).toEqual([callTo(list, "limit=60&offset=1")]);
    expect(rest).toMatchObject({ hasNextPage: false, hasPreviousPage: true, totalCount: whole.totalCount });
    expect([...first.keys, ...rest.keys]).toEqual(whole.keys);
  });

  test.each(NAMES)("%s is empty behind its end, and says so", async (list) => {
    const { ask, calls } = await startProfile();
    const whole = pageIn(await ask(pageOf(list), { first: 60 }));
    const behind = pageIn(await ask(pageOf(list), { after: whole.endCursor }));
    expect(behind).toEqual({
      keys: [],
      totalCount: whole.totalCount,
      hasNextPage: false,
      hasPreviousPage: true,
      endCursor: null,
    });
    expect(calls()).toEqual(
      [callTo(list, "limit=60"), callTo(list, `offset=${whole.keys.length}`)].toSorted(),
    );
  });

  test("reads on behind the server's own page from where that ended", async () => {
    const { ask, calls } = await startProfile();
    const list = "Project.experiments";
    const first = pageIn(await ask(pageOf(list), {}));
    const second = pageIn(await ask(pageOf(list), { after: first.endCursor }));
    const third = pageIn(await ask(pageOf(list), { after: second.endCursor }));
    expect([first, second, third].map(({ keys }) => keys.length)).toEqual([20, 20, 6]);
    expect(new Set([...first.keys, ...second.keys, ...third.keys]).size).toBe(46);
    expect(third.hasNextPage).toBe(false);
    expect(calls()).toEqual([callTo(list, ""), callTo(list, "offset=20"), callTo(list, "offset=40")]);
  });

  test("of a project that has none is empty, without an error", async () => {
    const { ask } = await startProfile();
    const { data, errors } = await ask(`{
      project(owner: "grace", name: "vision") {
        groups { nodes { id } edges { cursor } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: {
        groups: {
          nodes: [],
          edges: [],
          totalCount: 0,
          pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
        },
      },
    });
  });

  test.each([
    ["none of it", "first: 0", "first: expected 1 to 500, got 0"],
    ["too much of it", "first: 501", "first: expected 1 to 500, got 501"],
    ["a place that is none", 'after: "nonsense"', 'after: expected a cursor of this list, got "nonsense"'],
    [
      "too long a filter",
      `query: "${"x".repeat(2_001)}"`,
      "query: expected at most 2000 characters, got 2001",
    ],
  ])("with %s wanted is refused before anything is sent", async (_, args, message) => {
    const { ask, calls } = await startProfile();
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { name jobs(${args}) { totalCount } } }`,
    );
    expect(answer.data).toEqual({ project: { name: "mnist", jobs: null } });
    expect(errorsOf(answer)).toEqual([{ at: "project.jobs", message, code: "BAD_USER_INPUT" }]);
    expect(calls()).toEqual([]);
  });

  test("of a project that nobody knows, or that is not the caller's, is an error in its place", async () => {
    const { ask, demo } = await startProfile();
    const answer = await ask(
      `{
        unknown: project(owner: "ada", name: "nothing") { name jobs { totalCount } }
        secret: project(owner: "ada", name: "speech") { name jobs { totalCount } }
        open: project(owner: "ada", name: "mnist") { jobs { totalCount } }
      }`,
      {},
      { token: tokenOf(demo, "grace") },
    );
    expect(answer.data).toEqual({
      unknown: { name: "nothing", jobs: null },
      secret: { name: "speech", jobs: null },
      open: { jobs: { totalCount: 6 } },
    });
    const upstream = { method: "GET", route: "{owner}/{project}/jobs" };
    expect(errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`))).toEqual([
      {
        at: "secret.jobs",
        code: "FORBIDDEN",
        message: "You do not have permission to perform this action.",
        upstream: { ...upstream, status: 403 },
      },
      {
        at: "unknown.jobs",
        code: "NOT_FOUND",
        message: "Not found.",
        upstream: { ...upstream, status: 404 },
      },
    ]);
  });

  test("without a token is UNAUTHENTICATED, and nothing is sent", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { jobs { totalCount } } }`,
      {},
      { token: null },
    );
    expect(answer.data).toEqual({ project: null });
    expect(answer.errors).toMatchObject([{ path: ["project"], extensions: { code: "UNAUTHENTICATED" } }]);
    expect(calls()).toEqual([]);
  });
});

/** A list of `length` jobs whose server gives at most `most` of them at a time, and whose links lead astray. */
async function startLongList() {
  const list = { length: 0, most: 20 };
  const service = await startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const offset = Number(searchParams.get("offset") ?? 0);
    const limit = Math.min(Number(searchParams.get("limit") ?? 20), list.most);
    const ids = Array.from({ length: list.length }, (_, index) => index + 1).slice(offset, offset + limit);
    return {
      json: {
        count: list.length,
        next: "http://elsewhere.example/api/v1/users/?offset=7&limit=1&token=t0ken",
        previous: null,
        results: ids.map((id) => ({ id })),
      },
    };
  });
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
  return { ...gateway, list, calls: service.calls };
}

describe("page links are computed, never followed", () => {
  test("wherever they lead, the next request goes on where the page ended", async () => {
    const { ask, list, calls } = await startLongList();
    list.length = 45;
    const page = pageIn(await ask(pageOf("Project.jobs"), { first: 45 }));
    expect(page.keys).toEqual(Array.from({ length: 45 }, (_, index) => `${index + 1}`));
    expect(page.hasNextPage).toBe(false);
    expect(calls()).toEqual([
      "GET ada/mnist/jobs?limit=25&offset=20",
      "GET ada/mnist/jobs?limit=45",
      "GET ada/mnist/jobs?limit=5&offset=40",
    ]);
  });

  test("a cursor from before the profile was set goes on where it ended", async () => {
    const { ask, calls, demo } = await startProfile("document");
    const statuses = `query ($after: String) { thing: experiment(id: "ada.mnist.42") {
      page: statuses(first: 2, after: $after) { nodes { key: rawStatus } totalCount pageInfo { hasNextPage endCursor } }
    } }`;
    const first = pageIn(await ask(statuses, {}));
    expect(first).toMatchObject({ keys: ["created", "building"], hasNextPage: true });
    calls();
    const later = await startGateway({
      upstream: demo,
      token: tokenOf(demo, "ada"),
      env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
    });
    const second = pageIn(await later.ask(statuses, { after: first.endCursor }));
    expect(second).toMatchObject({ keys: ["scheduled", "starting"], hasNextPage: true });
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/statuses?limit=2&offset=2"]);
  });

  test("a walk gives every item once and in order, in steps of any size, however little the server gives", async () => {
    const { ask, list } = await startLongList();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 70 }),
        fc.integer({ min: 1, max: 30 }),
        fc.option(fc.integer({ min: 1, max: 40 })),
        async (length, most, first) => {
          Object.assign(list, { length, most });
          const keys: string[] = [];
          let after: string | null = null;
          let hasNextPage = true;
          while (hasNextPage) {
            const page = pageIn(await ask(pageOf("Project.jobs"), { first, after }));
            expect(page.totalCount).toBe(length);
            keys.push(...page.keys);
            ({ hasNextPage, endCursor: after } = page);
          }
          expect(keys).toEqual(Array.from({ length }, (_, index) => `${index + 1}`));
        },
      ),
      { numRuns: cases(10, 40) },
    );
  });
});

describe("order and filter", () => {
  const query = /* GraphQL */ `
    query ($first: Int = 3, $orderBy: RunOrder, $query: String, $after: String) {
      group(id: "ada.mnist.1") {
        experiments(first: $first, orderBy: $orderBy, query: $query, after: $after) {
          nodes {
            createdAt
            updatedAt
            status
          }
          totalCount
          pageInfo {
            endCursor
          }
        }
      }
    }
  `;
  interface Runs {
    readonly group: {
      readonly experiments: {
        readonly nodes: readonly { createdAt: string; updatedAt: string; status: string }[];
        readonly totalCount: number;
        readonly pageInfo: { readonly endCursor: string };
      };
    };
  }

  test.each([
    ["UPDATED_DESC", "-updated_at", "updatedAt", -1],
    ["CREATED_DESC", "-created_at", "createdAt", -1],
    ["CREATED_ASC", "created_at", "createdAt", 1],
  ] as const)("%s is the server's %s", async (orderBy, sort, key, direction) => {
    const { ask, calls } = await startProfile();
    const { data } = await ask<Runs, object>(query, { first: 24, orderBy });
    const times = data.group.experiments.nodes.map(({ [key]: time }) => Date.parse(time));
    expect(times).toEqual(times.toSorted((a, b) => direction * (a - b)));
    expect(new Set(times).size).toBeGreaterThan(20);
    expect(calls()).toEqual([`GET ada/mnist/experiments?group=1&sort=${sort}&limit=24`]);
  });

  test("an order that the schema does not know is refused before anything is sent", async () => {
    const { ask, calls } = await startProfile();
    const { errors } = await ask(query, { orderBy: "LOSS_ASC" });
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["BAD_USER_INPUT"]);
    expect(calls()).toEqual([]);
  });

  test("both go with every page of the walk", async () => {
    const { ask, calls } = await startProfile();
    const variables = { orderBy: "CREATED_ASC", query: "status:succeeded|failed" };
    const { data } = await ask<Runs, object>(query, variables);
    const { endCursor } = data.group.experiments.pageInfo;
    const { data: next } = await ask<Runs, object>(query, { ...variables, after: endCursor });
    const nodes = [...data.group.experiments.nodes, ...next.group.experiments.nodes];
    expect(nodes.map(({ status }) => status)).toEqual([
      "SUCCEEDED",
      "SUCCEEDED",
      "SUCCEEDED",
      "FAILED",
      "SUCCEEDED",
      "SUCCEEDED",
    ]);
    expect(next.group.experiments.totalCount).toBe(18);
    const asked =
      "GET ada/mnist/experiments?group=1&sort=created_at&query=status%3Asucceeded%7Cfailed&limit=3";
    expect(calls()).toEqual([asked, `${asked}&offset=3`]);
  });

  test("an empty filter is none", async () => {
    const { ask, calls } = await startProfile();
    await ask(query, { query: "" });
    expect(calls()).toEqual(["GET ada/mnist/experiments?group=1&limit=3"]);
  });

  test.each([
    "status:failed&limit=9&offset=1",
    "name:a b+c%20d",
    "tags:ü#é?x=1",
    "created_at:>2026-03-01, status:~x|y",
  ])("the filter %j reaches the server as it is, as one parameter", async (filter) => {
    const service = await startFake(() => ({ json: { count: 0, results: [] } }));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    await ask(query, { query: filter });
    const [seen] = service.seen();
    expect([...new URL(seen?.path ?? "", "http://service").searchParams]).toEqual([
      ["group", "1"],
      ["query", filter],
      ["limit", "3"],
    ]);
  });

  test("a filter that the server refuses is BAD_USER_INPUT with its words; the rest of the answer is there", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{
      project(owner: "ada", name: "mnist") {
        experiments(query: "nonsense:1") { totalCount }
        jobs(query: "status") { totalCount }
        groups { totalCount }
      }
    }`);
    expect(answer.data).toEqual({ project: { experiments: null, jobs: null, groups: { totalCount: 2 } } });
    const upstream = { method: "GET", status: 400 };
    expect(errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`))).toEqual([
      {
        at: "project.experiments",
        code: "BAD_USER_INPUT",
        message: "key `nonsense` is not supported by query manager `experiment`.",
        upstream: { ...upstream, route: "{owner}/{project}/experiments" },
      },
      {
        at: "project.jobs",
        code: "BAD_USER_INPUT",
        message: "Expression is not valid, it must be formatted as name:operation, Expression: status",
        upstream: { ...upstream, route: "{owner}/{project}/jobs" },
      },
    ]);
    expect(calls()).toEqual([
      "GET ada/mnist/experiments?query=nonsense%3A1",
      "GET ada/mnist/groups",
      "GET ada/mnist/jobs?query=status",
    ]);
  });
});

const EVERY_RUN = `id internalId uuid uniqueName name description status rawStatus phase isFinished createdAt updatedAt
  startedAt finishedAt user { username } project { uniqueName } tags bookmarked`;

/** What the rows of a list hold of each kind, and what only the whole record holds. */
const ROWS = {
  Experiment: {
    list: 'experiments(first: 3, query: "id:42|9|43")',
    calls: "ada/mnist/experiments?query=id%3A42%7C9%7C43&limit=3",
    within: `original { uniqueName } experimentGroup { uniqueName } buildJob { uniqueName } declarations
      lastMetric { name value } lastMetricValue(name: "loss")`,
    beyond: "config { kind run { cmd } } resources jobCount isClone hasTensorboard",
  },
  Job: {
    list: "jobs(first: 6)",
    calls: "ada/mnist/jobs?limit=6",
    within: "original { uniqueName } buildJob { uniqueName }",
    beyond: "config { kind run { cmd } } isClone resources nodeScheduled { name }",
  },
  BuildJob: {
    list: "buildJobs(first: 5)",
    calls: "ada/mnist/builds?limit=5",
    within: "",
    beyond: "config { kind } resources nodeScheduled { name } jobCount experimentCount dockerfile commit",
  },
  Group: {
    list: "groups(first: 2)",
    calls: "ada/mnist/groups?limit=2",
    within: "concurrency searchAlgorithm",
    beyond:
      "content hptuning { concurrency } currentIteration experimentCounts { total running } hasTensorboard",
  },
} as const;

interface Named {
  readonly id: string;
  readonly internalId: string;
}

describe("the rows of a list are partial records", () => {
  test.each(Object.keys(ROWS) as (keyof typeof ROWS)[])(
    "%s: what is in the row costs nothing more, what is beyond it one request for each record",
    async (kind) => {
      const { ask, calls } = await startProfile("polyaxon-0.2");
      const { list, calls: listCall, within, beyond } = ROWS[kind];
      const nodesOf = async (fields: string) => {
        const { data, errors } = await ask<{ project: { list: { nodes: readonly Named[] } } }, object>(
          `{ project(owner: "ada", name: "mnist") { list: ${list} { nodes { ${EVERY_RUN} ${fields} } } } }`,
        );
        expect(errors).toBeUndefined();
        return data.project.list.nodes;
      };
      await nodesOf(within);
      expect(calls()).toEqual([`GET ${listCall}`]);

      const nodes = await nodesOf(`${within} ${beyond}`);
      const segment = listCall.replace(/\?.*/, "");
      expect(calls()).toEqual(
        [`GET ${listCall}`, ...nodes.map(({ internalId }) => `GET ${segment}/${internalId}/`)].toSorted(),
      );

      // The same that the records tell when they are looked up.
      const ids = nodes.map(({ id }) => id);
      const { data } = await ask<{ entities: unknown }, object>(
        `query ($ids: [ID!]!) { entities(ids: $ids) { ... on ${kind} { ${EVERY_RUN} ${within} ${beyond} } } }`,
        { ids },
      );
      expect(nodes).toEqual(data.entities);
    },
  );

  test("a key that is null in a row is null; one that is absent is read, once", async () => {
    const service = await startFake(({ path }) =>
      path.includes("?")
        ? {
            json: {
              count: 2,
              results: [
                { id: 1, is_clone: null, resources: null },
                { id: 2, is_clone: true },
              ],
            },
          }
        : { json: { id: 2, is_clone: false, resources: { gpu: null } } },
    );
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    const { data, errors } = await ask(
      `{ project(owner: "ada", name: "mnist") { jobs(first: 2) { nodes { isClone resources } } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: {
        jobs: {
          nodes: [
            { isClone: null, resources: null },
            { isClone: true, resources: { gpu: null } },
          ],
        },
      },
    });
    expect(service.calls()).toEqual(["GET ada/mnist/jobs/2/", "GET ada/mnist/jobs?limit=2"]);
  });

  test("a key that the whole record lacks as well is null, and asked for once", async () => {
    const service = await startFake(({ path }) =>
      path.includes("?") ? { json: { count: 1, results: [{ id: 1 }] } } : { json: { id: 1 } },
    );
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const { data, errors } = await ask(
      `{ project(owner: "ada", name: "mnist") { jobs(first: 1) { nodes { isClone resources tags } } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({ project: { jobs: { nodes: [{ isClone: null, resources: null, tags: null }] } } });
    expect(service.calls()).toEqual(["GET ada/mnist/jobs/1/", "GET ada/mnist/jobs?limit=1"]);
  });

  test("a record that has gone since the list was made fails at what is beyond its row", async () => {
    const service = await startFake(({ path }) =>
      path.includes("?") ? { json: { count: 1, results: [{ id: 1, last_status: "running" }] } } : undefined,
    );
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { jobs(first: 1) { nodes { status isClone } } } }`,
    );
    expect(answer.data).toEqual({ project: { jobs: { nodes: [{ status: "RUNNING", isClone: null }] } } });
    expect(errorsOf(answer)).toMatchObject([{ at: "project.jobs.nodes.0.isClone", code: "NOT_FOUND" }]);
  });
});

describe("projects", () => {
  const projectsOf = (username: string) =>
    `{ entity(id: "${globalId(`User:${username}`)}") {
      ... on User { username projects { nodes { uniqueName name owner { username } } totalCount } }
    } }`;

  test("of a user are those that the caller may see", async () => {
    const { ask, demo } = await startProfile();
    const namesFor = async (username: string) => {
      const { data } = await ask<
        { entity: { projects: { nodes: readonly { uniqueName: string }[] } } },
        object
      >(projectsOf("ada"), {}, { token: tokenOf(demo, username) });
      return data.entity.projects.nodes.map(({ uniqueName }) => uniqueName);
    };
    expect(await namesFor("ada")).toEqual(["ada.speech", "ada.mnist"]);
    expect(await namesFor("grace")).toEqual(["ada.mnist"]);
  });

  test("of somebody whom nobody knows are none", async () => {
    const { ask } = await startProfile();
    expect(await ask(projectsOf("nobody"))).toEqual({
      data: { entity: { username: "nobody", projects: { nodes: [], totalCount: 0 } } },
    });
  });

  test("of the caller lead to everything that is in them", async () => {
    const { ask, calls } = await startProfile();
    const { data, errors } = await ask(`{
      viewer {
        projects {
          nodes {
            name
            jobs(first: 1, orderBy: CREATED_ASC) { nodes { uniqueName } totalCount }
            groups(first: 1) { nodes { uniqueName experiments(first: 1) { totalCount } } }
          }
        }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      viewer: {
        projects: {
          nodes: [
            {
              name: "speech",
              jobs: { nodes: [{ uniqueName: "ada.speech.jobs.8" }], totalCount: 1 },
              groups: { nodes: [] },
            },
            {
              name: "mnist",
              jobs: { nodes: [{ uniqueName: "ada.mnist.jobs.1" }], totalCount: 6 },
              groups: { nodes: [{ uniqueName: "ada.mnist.2", experiments: { totalCount: 12 } }] },
            },
          ],
        },
      },
    });
    expect(calls()).toEqual([
      "GET ada",
      "GET ada/mnist/experiments?group=2&limit=1",
      "GET ada/mnist/groups?limit=1",
      "GET ada/mnist/jobs?sort=created_at&limit=1",
      "GET ada/speech/groups?limit=1",
      "GET ada/speech/jobs?sort=created_at&limit=1",
      "GET users/",
    ]);
  });
});

describe("capabilities", () => {
  test.each<[Profile, string[]]>([
    ["document", []],
    ["polyaxon-0.2", ["LISTS"]],
    ["polyaxon-0.4", ["LISTS", "EXPERIMENT_JOB_LOGS"]],
  ])("of %s are told without a token and without a request", async (profile, capabilities) => {
    const { ask, calls } = await startProfile(profile);
    expect(await ask("{ gateway { capabilities } }", {}, { token: null })).toEqual({
      data: { gateway: { capabilities } },
    });
    expect(calls()).toEqual([]);
  });

  test("that are not there are null with an error, without a request; the rest of the answer is there", async () => {
    const { ask, calls } = await startProfile("document");
    const answer = await ask(`{
      project(owner: "ada", name: "mnist") {
        name
        experiments { totalCount }
        jobs { totalCount }
        buildJobs { totalCount }
        groups { totalCount }
        owner { username projects { totalCount } }
        group(internalId: "1") { name experiments { totalCount } }
      }
      experimentJob(id: "ada.mnist.42.22.master") { role logs { text } }
    }`);
    expect(answer.data).toEqual({
      project: {
        name: "mnist",
        experiments: null,
        jobs: null,
        buildJobs: null,
        groups: null,
        owner: { username: "ada", projects: null },
        group: { name: "sweep", experiments: null },
      },
      experimentJob: { role: "master", logs: null },
    });
    expect(errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`))).toEqual(
      [
        "experimentJob.logs",
        "project.buildJobs",
        "project.experiments",
        "project.group.experiments",
        "project.groups",
        "project.jobs",
        "project.owner.projects",
      ].map((at) => ({
        at,
        code: "CAPABILITY_UNAVAILABLE",
        message:
          "The server behind this gateway does not offer this. `gateway.capabilities` tells what there is.",
      })),
    );
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/jobs/22/", "GET ada/mnist/groups/1/"]);
  });
});

describe("the log of one job of an experiment", () => {
  const document = `{ experimentJob(id: "ada.mnist.42.22.master") { status logs(tailLines: 1) { lines } logsUrl } }`;
  interface Told {
    readonly experimentJob: { readonly status: string; readonly logs: unknown; readonly logsUrl: string };
  }

  test("is there on a server that has it, as a window and as a whole", async () => {
    const { ask, calls, demo } = await startProfile("polyaxon-0.4");
    const { data, errors } = await ask<Told, object>(document);
    expect(errors).toBeUndefined();
    expect(data.experimentJob).toMatchObject({
      status: "SUCCEEDED",
      logs: { lines: [expect.stringContaining("ada.mnist.42 succeeded")] },
    });
    const path = "ada/mnist/experiments/42/jobs/22/";
    expect(calls()).toEqual([`GET ${path}`, `GET ${path}logs`]);

    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const download = await fetch(data.experimentJob.logsUrl, { headers });
    expect(await download.text()).toContain("master on gpu-node.eu-1: epoch 1 ");
    expect(calls()).toEqual([`GET ${path}logs`]);
  });

  test.each<Profile>(["document", "polyaxon-0.2"])(
    "is not on %s, which is not asked for it",
    async (profile) => {
      const { ask, calls, demo } = await startProfile(profile);
      const answer = await ask<Told, object>(document);
      expect(answer.data.experimentJob).toMatchObject({ status: "SUCCEEDED", logs: null });
      expect(errorsOf(answer)).toMatchObject([{ at: "experimentJob.logs", code: "CAPABILITY_UNAVAILABLE" }]);
      expect(calls()).toEqual(["GET ada/mnist/experiments/42/jobs/22/"]);

      const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
      const download = await fetch(answer.data.experimentJob.logsUrl, { headers });
      expect(download.status).toBe(404);
      expect(await download.json()).toMatchObject({
        errors: [{ extensions: { code: "CAPABILITY_UNAVAILABLE" } }],
      });
      expect(calls()).toEqual([]);
    },
  );

  test("that has not begun is null, without an error", async () => {
    const { ask } = await startProfile("polyaxon-0.4");
    expect(
      await ask(`{ experiment(id: "ada.mnist.2.53") { jobs { nodes { status logs { text } } } } }`),
    ).toEqual({ data: { experiment: { jobs: { nodes: [{ status: "SCHEDULED", logs: null }] } } } });
  });
});

describe("rows that a profile spells differently", () => {
  test.each([
    ["document", "experiment", "experiments/42/outputs"],
    ["document", "job", "jobs/1/outputs"],
    ["polyaxon-0.2", "experiment", "experiments/42/outputs"],
    ["polyaxon-0.2", "job", "jobs/1/outputs"],
    ["polyaxon-0.4", "experiment", "experiments/42/outputs/download"],
    ["polyaxon-0.4", "job", "jobs/1/outputs/download"],
  ] as const)("with %s the outputs of the %s are at %s", async (profile, kind, path) => {
    const { ask, calls, demo } = await startProfile(profile);
    const id = { experiment: "ada.mnist.42", job: "ada.mnist.jobs.1" }[kind];
    const { data } = await ask<{ run: { outputsUrl: string } }, object>(
      `{ run: ${kind}(id: "${id}") { outputsUrl } }`,
    );
    // The read that shows that the run is there.
    calls();
    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const download = await fetch(data.run.outputsUrl, { headers });
    const bytes = Buffer.from(await download.arrayBuffer());
    expect(download.status).toBe(200);
    // The first bytes of every gzip file.
    expect([...bytes.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    expect(calls()).toEqual([`GET ada/mnist/${path}`]);
  });

  test.each([
    ["document", "DELETE"],
    ["polyaxon-0.2", "POST"],
    ["polyaxon-0.4", "POST"],
  ] as const)("with %s the superuser role is taken away by %s", async (profile, method) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask(
      `mutation { revokeSuperuser(username: "grace") { user { username } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({ revokeSuperuser: { user: { username: "grace" } } });
    expect(calls()).toEqual([`${method} superusers/revoke/grace/`]);
  });

  test.each(POLYAXON)(
    "with %s jobs cannot be resumed or copied: nothing is sent, and it is said",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      const answer = await ask(`mutation {
      resumeJob(id: "ada.mnist.jobs.1") { job { id } }
      copyJob(id: "ada.mnist.jobs.1") { job { id } }
      restartJob(id: "ada.mnist.jobs.1") { source { uniqueName } }
    }`);
      expect(answer.data).toEqual({
        resumeJob: null,
        copyJob: null,
        restartJob: { source: { uniqueName: "ada.mnist.jobs.1" } },
      });
      expect(errorsOf(answer)).toEqual(
        ["resume", "copy"].map((verb) => ({
          at: `${verb}Job`,
          code: "UPSTREAM_UNSUPPORTED",
          message: `This server does not offer POST {owner}/{project}/jobs/{id}/${verb}.`,
        })),
      );
      expect(calls()).toEqual(["POST ada/mnist/jobs/1/restart"]);
    },
  );

  test("with the document they are sent as it spells them", async () => {
    const { ask, calls } = await startProfile("document");
    await ask(`mutation {
      resumeJob(id: "ada.mnist.jobs.1") { source { id } }
      copyJob(id: "ada.mnist.jobs.1") { source { id } }
    }`);
    expect(calls()).toEqual(["POST ada/mnist/jobs/1/copy", "POST ada/mnist/jobs/1/resume"]);
  });
});

describe("UPSTREAM_ROWS", () => {
  const startRows = (rows: Record<string, string | null>, profile: Profile = "polyaxon-0.4") =>
    startProfile(profile, { UPSTREAM_ROWS: JSON.stringify(rows) });

  test("spells single rows as another server does, over any profile", async () => {
    const { ask, calls } = await startRows({
      "job.stop": "DELETE {project}/of/{owner}/job-{id}",
      "experiment.statuses": "GET {owner}/{project}/experiments/{id}/statuses/",
      "administration.revoke": "DELETE superusers/revoke/{username}/",
    });
    const answer = await ask(`mutation {
      stopJob(id: "ada.mnist.jobs.1") { job { id } }
      revokeSuperuser(username: "grace") { user { username } }
      stopExperiment(id: "ada.mnist.42") { experiment { statuses(first: 1) { totalCount } } }
    }`);
    expect(calls()).toEqual([
      "DELETE mnist/of/ada/job-1",
      "DELETE superusers/revoke/grace/",
      "GET ada/mnist/experiments/42/statuses/?limit=1",
      "POST ada/mnist/experiments/42/stop",
    ]);
    // The demo knows no such path: the error names the row as it was asked.
    expect(errorsOf(answer)).toEqual([
      expect.objectContaining({
        at: "stopJob",
        code: "UPSTREAM_UNSUPPORTED",
        upstream: { method: "DELETE", route: "{project}/of/{owner}/job-{id}", status: 405 },
      }),
    ]);
  });

  test("takes rows away", async () => {
    const { ask, calls } = await startRows({ "experiment.metrics": null, "cluster.read": null }, "document");
    const answer = await ask(`{
      experiment(id: "ada.mnist.42") { status metrics { totalCount } }
      cluster { uuid }
    }`);
    expect(answer.data).toEqual({ experiment: { status: "SUCCEEDED", metrics: null }, cluster: null });
    expect(
      answer.errors
        ?.map(({ path, message, extensions }) => [path?.join("."), extensions["code"], message])
        .toSorted(),
    ).toEqual([
      ["cluster", "UPSTREAM_UNSUPPORTED", "This server does not offer GET cluster/."],
      [
        "experiment.metrics",
        "UPSTREAM_UNSUPPORTED",
        "This server does not offer GET {owner}/{project}/experiments/{id}/metrics.",
      ],
    ]);
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/"]);
  });

  test("gives a server what its profile takes away", async () => {
    const { ask, calls } = await startRows({ "job.copy": "POST {owner}/{project}/jobs/{id}/copy" });
    const { errors } = await ask(`mutation { copyJob(id: "ada.mnist.jobs.1") { source { id } } }`);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual(["POST ada/mnist/jobs/1/copy"]);
  });

  const faults: readonly (readonly [rows: string, told: RegExp])[] = [
    ["job.stop", /expected a JSON object of row names and spellings/],
    ["{", /expected a JSON object of row names and spellings/],
    ["7", /expected a JSON object of row names and spellings/],
    ["null", /expected a JSON object of row names and spellings/],
    ['["job.stop"]', /expected a JSON object of row names and spellings/],
    ['{"job.fly": null}', /job\.fly: expected a row of the table/],
    ['{"jobs.stop": "POST jobs/{id}/stop"}', /jobs\.stop: expected a row of the table/],
    ['{"job.stop": 7}', /job\.stop: /],
    ['{"job.stop": ""}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "FETCH jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST http://elsewhere.example/{id}"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST ../../{id}"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST jobs/{id}/stop?force=1"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": null, "job.read": "x", "job.fly": null}', /(?=.*job\.read: )(?=.*job\.fly: )/],
    // Servers take no double slash, and a row's path goes behind one.
    ['{"job.stop": "POST /jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST jobs/{id/stop"}', /job\.stop: /],
    // Nothing fills a hole that the row does not have.
    ['{"job.stop": "POST {owner}/{project}/jobs/{number}/stop"}', /job\.stop: /],
  ];
  test.each(faults)("%s is refused at the start, with the variable's name", (rows, told) => {
    let fault: unknown;
    try {
      readConfig({ UPSTREAM_ROWS: rows });
    } catch (thrown) {
      fault = thrown;
    }
    expect(fault).toBeInstanceOf(ConfigError);
    expect((fault as ConfigError).message).toMatch(/^UPSTREAM_ROWS: /);
    expect((fault as ConfigError).message).toMatch(told);
  });
});
