import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases, everyNth } from "../support/cases.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startBefore } from "../support/gateway.ts";
import { globalId, opaque } from "../support/ids.ts";
import TEXTS from "./hostile-names.json" with { type: "json" };

/** Strings that a path cannot contain. */
const UNFIT = [...TEXTS.unfit, "a".repeat(201), "a".repeat(10_000)];

/** Strings that are harmless as names but are not ids: neither global ids nor dotted names of runs. */
const NO_IDS = [
  ...TEXTS.noIds,
  ...TEXTS.noAddresses.map(globalId),
  Buffer.from("Experiment:a/b/12").toString("base64"),
  `${globalId("Experiment:a/b/1")}A`,
  `${globalId("Experiment:a/b/1")} `,
  Buffer.from([...Buffer.from("User:a"), 0xff]).toString("base64url"),
];

const NO_CURSORS = [...UNFIT, ...NO_IDS, ...TEXTS.noCursors.map(opaque)];

/** Half a surrogate pair has no UTF-8, so no global id can contain it. */
const hasBytes = (text: string) => Buffer.from(text).toString() === text;

const UNFIT_IN_ID = UNFIT.flatMap((text) => [
  `${text}.mnist.42`,
  `ada.${text}.jobs.3`,
  ...(hasBytes(text)
    ? [`Experiment:${text}/mnist/42`, `Job:ada/${text}/3`, `Group:ada/mnist/${text}`].map(globalId)
    : []),
]);

/** Valid ids, one of each kind. */
const IDS: Readonly<Record<string, string>> = TEXTS.ids;
const idsBut = (...kinds: readonly string[]) =>
  Object.entries(IDS).flatMap(([kind, id]) => (kinds.includes(kind) ? [] : [id]));

/** An experiment and a group can have the same name. Commands reject it; reads look up both. */
const AMBIGUOUS = "ada.mnist.42";
const NAMES = TEXTS.names;

interface Entry {
  /** Operations that accept the string as `$x`. */
  readonly query: string;
  readonly texts: readonly string[];
}

const anyId = [...UNFIT, ...NO_IDS, ...UNFIT_IN_ID];
const anyButProject = anyId.filter((text) => text !== "ada.mnist");
const anyButRun = [...anyId, ...idsBut("Experiment", "Job", "BuildJob", "Group")];

const kindOf = (field: string) => field.replace(/^./, (letter) => letter.toUpperCase());
const idEntries = (fields: readonly string[], selection: string, texts: readonly string[], type = "query") =>
  fields.map((field): Entry => ({ query: `${type} ($x: ID!) { ${field} { ${selection} } }`, texts }));
const textEntries = (fields: readonly string[], texts: readonly string[]) =>
  fields.map((field): Entry => ({ query: `query ($x: String) { ${field} }`, texts }));

const EXPERIMENT = `experiment(id: "ada.mnist.42")`;
const COMMANDS = ["stop", "bookmark", "archive", "delete"].map((verb) => `${verb}Runs(ids: [$x])`);

const admission: readonly Entry[] = [
  // Lookups of one kind, with the valid names.
  ...Object.entries<readonly string[]>(TEXTS.lookUps).flatMap(([field, names]) => [
    ...idEntries([`${field}(id: $x)`], "uuid", [
      ...anyId,
      ...idsBut(kindOf(field)),
      ...NAMES.filter((name) => !names.includes(name)),
    ]),
    // Only fields without a request are selected.
    ...idEntries([`${field}(id: $x)`], "id", anyId),
  ]),
  ...idEntries(["run(id: $x)"], "uuid", anyButRun),
  ...idEntries(["run(id: $x)"], "id", anyId),
  ...idEntries(["entity(id: $x)", "entities(ids: [$x])"], "id ... on Trackable { uuid }", anyButProject),
  ...idEntries(["project(id: $x)"], "isPublic", [...anyButProject, ...idsBut("Project"), ...NAMES]),
  ...idEntries(COMMANDS, "__typename", [...anyButRun, AMBIGUOUS], "mutation"),
  // Any other string is a name.
  ...idEntries(["node(id: $x)"], "uuid", [...UNFIT, globalId("Node:.."), ...idsBut("Node")]),
  {
    query: "query ($x: String!) { user(username: $x) { id } }",
    texts: [...UNFIT, globalId("User:a/b"), ...idsBut("User")],
  },
  ...["activateUser", "deleteUser", "grantSuperuser", "revokeSuperuser"].map((command) => ({
    query: `mutation ($x: String!) { ${command}(username: $x) { __typename } }`,
    texts: UNFIT,
  })),
  ...textEntries(
    ["statuses", "metrics", "jobs"].map((list) => `${EXPERIMENT} { ${list}(after: $x) { totalCount } }`),
    NO_CURSORS,
  ),
  ...textEntries([`${EXPERIMENT} { logs(after: $x) { text } }`], [...NO_CURSORS, opaque("offset=20#0")]),
  ...textEntries(
    [
      `experimentJob(id: "${IDS["ExperimentJob"]}")`,
      `job(id: "ada.mnist.jobs.3")`,
      `buildJob(id: "ada.mnist.builds.9")`,
      `group(id: "ada.mnist.5")`,
    ].map((field) => `${field} { statuses(after: $x) { totalCount } }`),
    [...NO_CURSORS, opaque("byte:20")],
  ),
];

/**
 * Starts a gateway in front of a service that has every record. Returns a function that sends a query and returns only the codes of its
 * errors.
 */
async function open() {
  const { ask, service } = await startBefore(() => ({ json: { id: 1, name: "node-1", results: [] } }), {
    MAX_PAGE_SIZE: "500",
    MAX_LOG_BYTES: "1048576",
  });
  const codes = async (query: string, x: unknown) => codesOf(await ask(query, { x }));
  return { service, codes };
}

describe("a string that cannot be a name is refused before any request", () => {
  const tried = admission.map(({ query, texts }, index) => ({ query, given: everyNth(texts, 8, index) }));

  test.each(tried)("in $query", async ({ query, given }) => {
    const { service, codes } = await open();
    const reported: unknown[] = [];
    for (const text of given) reported.push([text, await codes(query, text)]);
    expect(reported).toEqual(given.map((text) => [text, ["BAD_USER_INPUT"]]));
    expect(service.calls()).toEqual([]);
  });
});

const beyond = [-2_147_483_649, -1, 0, 2_147_483_648, 1.5, Number.MAX_SAFE_INTEGER, "1", true, [], {}];

describe("numbers outside their bounds are refused before anything is sent", () => {
  test.each(TEXTS.numbers)("in $field: $least to $most", async ({ field, least, most }) => {
    const { service, codes } = await open();
    const query = `query ($x: Int) { ${EXPERIMENT} { ${field} } }`;
    for (const number of [...beyond, least - 1, most + 1])
      expect([number, await codes(query, number)]).toEqual([number, ["BAD_USER_INPUT"]]);
    expect(service.calls()).toEqual([]);
    for (const number of [least, most]) expect(await codes(query, number)).toEqual([]);
    expect(service.calls()).toHaveLength(2);
  });
});

test("refuses more than 100 ids before anything is sent", async () => {
  const { service, codes } = await open();
  const query = "query ($x: [ID!]!) { entities(ids: $x) { id ... on Trackable { uuid } } }";
  expect(await codes(query, Array(101).fill(IDS["Experiment"]))).toEqual(["BAD_USER_INPUT"]);
  expect(service.calls()).toEqual([]);
});

test("one hostile id is null, and the other ids are resolved", async () => {
  const { ask, service } = await startBefore(() => ({ json: { id: 1, uuid: "u" } }));
  const ids = [IDS["Experiment"], globalId("Experiment:../x/1"), IDS["Job"]];
  const query = "query ($ids: [ID!]!) { entities(ids: $ids) { ... on Trackable { uuid } } }";
  const message = `ids[1]: expected a name without whitespace, control characters or / \\ ? # %, got ".."`;
  expect(outcomeOf(await ask(query, { ids }))).toEqual({
    data: { entities: [{ uuid: "u" }, null, { uuid: "u" }] },
    errors: [failure("entities.1", "BAD_USER_INPUT", message)],
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/jobs/3/"]);
});

test("a refusal quotes only the beginning of the input, without control characters", async () => {
  const { ask } = await startBefore(() => undefined);
  const { errors } = await ask("query ($x: ID!) { experiment(id: $x) { uuid } }", {
    x: `\n\u001b[31m${"a".repeat(10_000)}`,
  });
  expect(errors?.[0]?.message).toMatch(/^\P{Cc}{1,200}$/u);
});

/** Whether a server that normalizes paths would map this path to another path. */
const isRewritten = (path: string) => new URL(path, "http://service").pathname !== path;

const BELOW_A_PROJECT = /^\/api\/v1\/([^/?#]+)\/([^/?#]+)\/experiments\/\d+\/$/;

describe("for any id, a request stays within its project", () => {
  const anything = fc.string({ unit: "binary", maxLength: 30 });
  const part = fc.oneof(
    anything,
    fc.stringMatching(/^[\w-]{1,8}$/),
    fc.constantFrom("..", ".", "%2e%2e", "%2f", "a/b", "\\", "", "\0", "?", "#"),
  );
  const number = fc.oneof(fc.nat().map(String), part);
  const id = fc.oneof(
    anything,
    fc.tuple(part, part, number).map((parts) => parts.join(".")),
    fc.tuple(part, part, number).map((parts) => globalId(`Experiment:${parts.join("/")}`)),
    fc.array(part, { maxLength: 6 }).map((parts) => globalId(`Experiment:${parts.join("/")}`)),
    fc
      .tuple(fc.constantFrom("Experiment:", "Job:", ":", ""), anything)
      .map((parts) => globalId(parts.join(""))),
  );

  test("whether the id is global or a name", async () => {
    const { ask, service } = await startBefore(() => ({ json: { id: 1, uuid: "u" } }));
    await fc.assert(
      fc.asyncProperty(id, async (x) => {
        const before = service.seen().length;
        const codes = codesOf(await ask("query ($x: ID!) { experiment(id: $x) { uuid } }", { x }));
        const sent = service.seen().slice(before);
        const paths = sent.map(({ path }) => path);
        expect(codes).toEqual(paths.length === 0 ? ["BAD_USER_INPUT"] : []);
        expect(paths.length).toBeLessThan(2);
        expect(paths.filter((path) => !BELOW_A_PROJECT.test(path) || isRewritten(path))).toEqual([]);
      }),
      { numRuns: cases(50, 500), examples: [["ada.mnist.42"]] },
    );
    // Unless one request was sent, the test would prove nothing.
    expect(service.seen().length).toBeGreaterThan(0);
  });
});
