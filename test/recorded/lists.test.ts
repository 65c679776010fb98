import { expect, test } from "vitest";
import { markOf } from "../../src/rest/session/steps.ts";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId, opaque } from "../support/ids.ts";
import { refusalOf } from "../support/recorded-rows.ts";
import { dataOf, type Row } from "../support/recorded-told.ts";
import { type Line, lineOf, plain, readRecording, startReplay } from "../support/replay.ts";

/** A list of the service: its path, the field that it is of what, and what is selected of its items. */
interface Listing {
  readonly path: RegExp;
  readonly route: string;
  readonly of: (...segments: string[]) => readonly [root: string, type: string];
  readonly field: string;
  readonly fields: string;
  /** Whether it takes an order and a filter. */
  readonly isOfRuns?: boolean;
}

/** A project of the recorded users; the same shape under another first word is something else than a project. */
const P = "(alice|bob)/([-\\w]+)";

const project = (owner = "", name = "") => [`project(id: "${owner}.${name}")`, "Project"] as const;

const experiment = (owner = "", name = "", id = "") =>
  [`experiment(id: "${owner}.${name}.${id}")`, "Experiment"] as const;

const RUN = `internalId uuid uniqueName name description rawStatus createdAt updatedAt startedAt finishedAt tags isBookmarked
  user { username }`;

/** The lists of a project, each by its name on the wire: its field, and what is selected of its items. */
const RUN_LISTS = {
  experiments: [
    "experiments",
    `${RUN} declarations { name value } original { uniqueName } experimentGroup { uniqueName } buildJob { uniqueName }
    latestMetrics { name raw }`,
  ],
  jobs: ["jobs", `${RUN} buildJob { uniqueName }`],
  builds: ["buildJobs", RUN],
  groups: ["groups", `${RUN} concurrency searchAlgorithm`],
} as const;

/** The statuses of a record, which is known by its name. */
const statusesOf = (
  list: string,
  field: string,
  nameOf: (project: string, id?: string, job?: string) => string,
  route = `${list}/{id}/statuses`,
): Listing => ({
  path: new RegExp(`^${P}/${list.replace("{experiment}", "(\\d+)")}/(\\d+)/statuses$`),
  route: `{owner}/{project}/${route}`,
  of: (owner, name, ...ids) => [
    `${field}(id: "${nameOf(`${owner}.${name}`, ...ids)}")`,
    field.replace(/^./, (letter) => letter.toUpperCase()),
  ],
  field: "statuses",
  fields: "internalId uuid rawStatus createdAt message",
});

const LISTINGS: readonly Listing[] = [
  {
    path: /^(alice|bob|nobody)$/,
    route: "{owner}",
    of: (owner) => [`entity(id: "${globalId(`User:${owner}`)}")`, "User"],
    field: "projects",
    fields: "uniqueName name",
  },
  ...Object.entries(RUN_LISTS).map(([list, [field, fields]]) => ({
    path: new RegExp(`^${P}/${list}$`),
    route: `{owner}/{project}/${list}`,
    of: project,
    field,
    fields,
    isOfRuns: true,
  })),
  statusesOf("experiments", "experiment", (of, id) => `${of}.${id}`),
  statusesOf("groups", "group", (of, id) => `${of}.${id}`),
  statusesOf("builds", "buildJob", (of, id) => `${of}.builds.${id}`),
  statusesOf("jobs", "job", (of, id) => `${of}.jobs.${id}`, "jobs/{id}/statuses/"),
  statusesOf(
    "experiments/{experiment}/jobs",
    "experimentJob",
    (of, id, job) => globalId(`ExperimentJob:${of.replace(".", "/")}/${id}/${job}`),
    "experiments/{experiment}/jobs/{id}/statuses/",
  ),
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/metrics$`),
    route: "{owner}/{project}/experiments/{id}/metrics",
    of: experiment,
    field: "metrics",
    fields: "internalId createdAt values { name raw }",
  },
  {
    path: new RegExp(`^${P}/experiments/(\\d+)/jobs$`),
    route: "{owner}/{project}/experiments/{id}/jobs",
    of: experiment,
    field: "jobs",
    fields: "internalId uniqueName role rawStatus startedAt nodeScheduled { name } resources",
  },
];

const below = (path: string) => plain(path)[0].replace("/api/v1/", "");

const listingOf = ({ path }: Line) => LISTINGS.find((listing) => listing.path.test(below(path)));

const parametersOf = ({ path }: Line) => new URLSearchParams(path.split("?")[1]);

/** Every recorded request for a list. */
const reads = readRecording("0.2.0-reads").filter((line) => line.method === "GET" && listingOf(line));

const SORTS: Readonly<Record<string, object>> = {
  "-updated_at": { field: "UPDATED_AT" },
  "-created_at": { field: "CREATED_AT", direction: "DESC" },
  created_at: { field: "CREATED_AT", direction: "ASC" },
};

const LONGEST_PAGE = 500;

/** What of a recorded request the schema has no words for; null when it can be asked for. */
function unsaid(line: Line): string | null {
  const { Authorization: token, Accept: accepted } = line.headers;
  if (token === undefined) return "nothing is sent without a token";
  if (accepted !== undefined) return "the gateway takes JSON";
  for (const [name, value] of parametersOf(line)) {
    const isOfRuns = listingOf(line)?.isOfRuns ?? false;
    if (name === "limit" || name === "offset") {
      const most = name === "limit" ? LONGEST_PAGE : Number.POSITIVE_INFINITY;
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

test("of 156 recorded requests for lists the schema can express 117; the others have their reasons", () => {
  expect(reads).toHaveLength(156);
  expect(expressed).toHaveLength(117);
  const others = new Map<string, number>();
  for (const reason of reads.map(unsaid))
    if (reason !== null) others.set(reason, (others.get(reason) ?? 0) + 1);
  expect(Object.fromEntries(others)).toEqual({
    "nothing is sent without a token": 8,
    "the gateway takes JSON": 2,
    "a page is 1 to 500 items behind a cursor": 5,
    "another order": 11,
    "no filter, or one where there is none": 2,
    "another parameter": 11,
  });
});

/** A cursor of the list, as the gateway writes it. */
function cursorAt(offset: number, line: Line, route: string): string {
  const given = below(line.path).split("/");
  const address = route
    .split("/")
    .flatMap((part, index) => (part.startsWith("{") ? [[part.slice(1, -1), given[index]]] : []));
  const narrowing = route === "{owner}" ? "" : undefined;
  const list = { endpoint: { path: route }, address: Object.fromEntries(address) as object, narrowing };
  // Safe: the mark of a list is made of these two.
  return opaque(`offset=${offset}#0#${markOf(list as Parameters<typeof markOf>[0])}`);
}

/** The operation that asks for what was recorded, and its variables. */
function express(line: Line, { field, fields, of, path, route, isOfRuns }: Listing) {
  const [, ...segments] = path.exec(below(line.path)) ?? [];
  const parameters = parametersOf(line);
  const group = parameters.get("group");
  const [root, type] =
    group === null ? of(...segments) : ([`group(id: "${segments.join(".")}.${group}")`, "Group"] as const);
  const document = `query ($first: Int, ${isOfRuns ? "$offset: Int, $order: RunOrder, $query: String" : "$after: String"}) {
    thing: ${root} {
      ... on ${type} {
        list: ${field}(first: $first, ${isOfRuns ? "offset: $offset, order: $order, query: $query" : "after: $after"}) {
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
      ...(offset === 0 ? {} : isOfRuns ? { offset } : { after: cursorAt(offset, line, route) }),
      ...(isOfRuns ? { order: SORTS[parameters.get("sort") ?? ""], query: parameters.get("query") } : {}),
    },
  };
}

const SOME_TEXT: unknown = expect.any(String);

/** What the gateway must make of the recorded answer. */
function expected(line: Line, document: string, { route }: Listing): unknown {
  const { status, json } = line;
  if (status === 200) {
    // Every list of every release comes in this envelope.
    const page = json as { readonly results: readonly Row[] };
    const endCursor = page.results.length > 0 ? SOME_TEXT : null;
    return { data: dataOf(document, { ...page, end_cursor: endCursor }), errors: [] };
  }
  // Where there is no list there is no thing; of projects the service cannot tell.
  const isThing = status === 404 && (route.includes("{id}/") || line.path.includes("group="));
  const error = refusalOf(line, isThing ? "thing" : "thing.list", { route });
  return { data: { thing: isThing ? null : { list: null } }, errors: [error] };
}

const groupOfNone = lineOf(readRecording("0.2.0-reads"), "variety group None random");

test.each(expressed.map((line) => [line.case, line] as const))("%s", async (_, line) => {
  const listing = listingOf(line);
  if (!listing) throw new TypeError("only lists are told here");
  const { document, variables } = express(line, listing);
  // An empty list does not show that its group is there: the group's record does.
  const record = line.case === "variety selection group experiments" ? [groupOfNone] : [];
  const upstream = await startReplay([line, ...record]);
  const token = line.headers["Authorization"]?.replace("token ", "") ?? null;
  const env = { UPSTREAM_PROFILE: "polyaxon-0.2", MAX_PAGE_SIZE: `${LONGEST_PAGE}` };
  const { ask } = await startGateway({ upstream, token, env });
  expect(outcomeOf(await ask(document, variables))).toEqual(expected(line, document, listing));
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
    a: experiment(id: "alice.mnist.1") { name }
    b: experiment(id: "alice.mnist.2") { name }
    experimentJob(id: "alice.mnist.1.1.master") { role logs { text } }
  }`);
  expect(data).toEqual({
    a: { name: "baseline" },
    b: { name: null },
    experimentJob: { role: "master", logs: null },
  });
  expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["CAPABILITY_UNAVAILABLE"]);
  expect(upstream.calls()).toEqual([
    "GET alice/mnist/experiments/1/",
    "GET alice/mnist/experiments/1/jobs/1/",
    "GET alice/mnist/experiments/2/",
  ]);
});
