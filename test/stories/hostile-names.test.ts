import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases, everyNth } from "../support/cases.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId, opaque } from "../support/ids.ts";

/** Texts that can stand in no path. */
const UNFIT: Readonly<Record<string, string>> = {
  empty: "",
  blank: " ",
  "a blank inside": "a b",
  "the folder itself": ".",
  "the folder above": "..",
  "the folder above, escaped": "%2e%2e",
  "the folder above, escaped twice": "%252e%252e",
  "the folder above, half escaped": ".%2e",
  "the folder above, behind a backslash": "..\\api",
  "a slash": "a/b",
  "an escaped slash": "a%2fb",
  "a backslash": "a\\b",
  "an address": "http://other.example/x",
  "a query behind a name": "a?x=1",
  "a fragment behind a name": "a#f",
  NUL: "a\0b",
  "a header behind a new line": "a\r\nx-injected: 1",
  "a tabulator": "a\tb",
  "a delete sign": "a\u007fb",
  "a blank that does not break": "a\u00a0b",
  "a sign without width": "a\u200bb",
  "a change of direction": "a\u202eb",
  "a byte order mark": "\ufeffa",
  "a high surrogate alone": "a\ud83db",
  "a sign of private use": "a\ue000b",
  "10,000 characters": "a".repeat(10_000),
  "201 characters": "a".repeat(201),
};

/** Texts that are harmless as names and are no ids: neither global ones nor dotted names of any run. */
const NO_IDS: Readonly<Record<string, string>> = {
  "a number": "42",
  "a word": "mnist",
  "six parts": "a.b.c.d.e.f",
  "a name without a number": "ada.mnist",
  "a number with a sign": "ada.mnist.-1",
  "a number with leading zeros": "ada.mnist.007",
  "a number with a fraction": "ada.mnist.4.2.",
  "a number of twenty digits": "ada.mnist.12345678901234567890",
  "a number in another script": "ada.mnist.٤٢",
  "empty parts": "..1",
  "a global id with a climb": globalId("Experiment:../x/1"),
  "a global id with an escaped climb": globalId("Experiment:%2e%2e/x/1"),
  "a global id with too many parts": globalId("Experiment:a/b/c/1"),
  "a global id with too few parts": globalId("Experiment:a/1"),
  "a global id with an empty part": globalId("Experiment:a//1"),
  "a global id with nothing behind it": globalId("Experiment:a/b/1/"),
  "a global id with a leading zero": globalId("Experiment:a/b/01"),
  "a global id without a number": globalId("Experiment:a/b/c"),
  "a global id with a new line": globalId("Experiment:a/b/1\n"),
  "a global id with NUL": globalId("Experiment:a\0/b/1"),
  "a global id of a machine that climbs": globalId("Node:.."),
  "a global id of no kind": globalId("Nope:a/b/1"),
  "a global id of an empty kind": globalId(":a/b/1"),
  "a global id of a status": globalId("StatusRecord:Job/a/b/1/7"),
  "a global id of a built-in name": globalId("__proto__:a/b/1"),
  "a global id without a colon, as long as a kind": globalId("Userx"),
  "a global id of a cluster with a name": globalId("Cluster:x"),
  "a global id with padding": Buffer.from("Experiment:a/b/12").toString("base64"),
  "a global id with a tail": `${globalId("Experiment:a/b/1")}A`,
  "a global id with a blank": `${globalId("Experiment:a/b/1")} `,
  "a global id that is no UTF-8": Buffer.from([...Buffer.from("User:a"), 0xff]).toString("base64url"),
};

/** Ids that are right, one of each kind. */
const IDS: Readonly<Record<string, string>> = {
  Experiment: globalId("Experiment:ada/mnist/42"),
  ExperimentJob: globalId("ExperimentJob:ada/mnist/42/7"),
  Job: globalId("Job:ada/mnist/3"),
  BuildJob: globalId("BuildJob:ada/mnist/9"),
  Group: globalId("Group:ada/mnist/5"),
  Project: globalId("Project:ada/mnist"),
  User: globalId("User:ada"),
  Node: globalId("Node:node-1"),
  Cluster: globalId("Cluster:"),
};
const idsBut = (...kinds: readonly string[]) =>
  Object.fromEntries(
    Object.entries(IDS)
      .filter(([kind]) => !kinds.includes(kind))
      .map(([kind, id]) => [`the id of a ${kind}`, id]),
  );

const NAMES: Readonly<Record<string, string>> = {
  "the name of an experiment in a group": "ada.mnist.5.42",
  "the name of an experiment": "ada.mnist.42",
  "the name of a job": "ada.mnist.jobs.3",
  "the name of a build": "ada.mnist.builds.9",
  "the name of a job of an experiment": "ada.mnist.42.7.master",
};
/** Those that do not tell the kind. */
const AMBIGUOUS = { "the name of an experiment": "ada.mnist.42" };
const namesBut = (...left: readonly string[]) =>
  Object.fromEntries(
    Object.entries(NAMES)
      .filter(([, name]) => !left.includes(name))
      .map(([title, name]) => [title, name]),
  );

/** Half a character has no UTF-8, so no global id can hold it. */
const hasBytes = (text: string) => Buffer.from(text).toString() === text;

const UNFIT_IN_ID = Object.fromEntries(
  Object.entries(UNFIT).flatMap(([title, text]) => [
    [`${title}, as the owner in a name`, `${text}.mnist.42`],
    [`${title}, as the project of a job`, `ada.${text}.jobs.3`],
    ...(hasBytes(text)
      ? [
          [`${title}, as the owner in a global id`, globalId(`Experiment:${text}/mnist/42`)],
          [`${title}, as the project in a global id`, globalId(`Job:ada/${text}/3`)],
          [`${title}, as the number in a global id`, globalId(`Group:ada/mnist/${text}`)],
        ]
      : []),
  ]),
) as Readonly<Record<string, string>>;

const NO_CURSORS: Readonly<Record<string, string>> = {
  ...UNFIT,
  ...NO_IDS,
  "a cursor without a place": opaque("offset=20"),
  "a cursor with a negative place": globalId("#-1"),
  "a cursor with a place that is no number": globalId("#x"),
  "a cursor with a place of ten digits": globalId("#1234567890"),
  "a cursor with another parameter": globalId("query=status:running#0"),
  "a cursor with a path": globalId("../other?offset=20#0"),
  "a cursor with two places": opaque("offset=20#1#2"),
  "a cursor that is not written as we write it": opaque("offset=../x#0"),
  "a place in a log before its start": opaque("byte:-1"),
  "a place in a log that is no number": opaque("byte:1e9"),
};

interface Door {
  readonly argument: string;
  /** Takes the text as `$x`. */
  readonly query: string;
  readonly texts: Readonly<Record<string, string>>;
}

const experimentIn = (field: string) => `query ($x: String) { experiment(id: "ada.mnist.42") { ${field} } }`;
const anyId = { ...UNFIT, ...NO_IDS, ...UNFIT_IN_ID };
const anyButProject = Object.fromEntries(Object.entries(anyId).filter(([, text]) => text !== "ada.mnist"));

const RUNS = ["Experiment", "Job", "BuildJob", "Group"];
const anyButRun = { ...anyId, ...idsBut(...RUNS), ...AMBIGUOUS };

/** Look-ups of one kind, with the names that are right. */
const LOOK_UPS: Readonly<Record<string, readonly string[]>> = {
  experiment: ["ada.mnist.42", "ada.mnist.5.42"],
  job: ["ada.mnist.jobs.3"],
  buildJob: ["ada.mnist.builds.9"],
  group: ["ada.mnist.42"],
  experimentJob: ["ada.mnist.42.7.master"],
};
const kindOf = (field: string) => field.replace(/^./, (letter) => letter.toUpperCase());
const doorOf = (argument: string, query: string, texts: Door["texts"]): Door => ({ argument, query, texts });

const doors: readonly Door[] = [
  ...Object.entries(LOOK_UPS).map(([field, names]) =>
    doorOf(`${field}(id:)`, `query ($x: ID!) { ${field}(id: $x) { uuid } }`, {
      ...anyId,
      ...idsBut(kindOf(field)),
      ...namesBut(...names),
    }),
  ),
  doorOf("run(id:)", "query ($x: ID!) { run(id: $x) { uuid } }", anyButRun),
  ...["entity(id: $x)", "entities(ids: [$x])"].map((field) =>
    doorOf(field, `query ($x: ID!) { ${field} { id ... on Trackable { uuid } } }`, {
      ...anyButProject,
      ...AMBIGUOUS,
    }),
  ),
  doorOf("project(id:)", "query ($x: ID!) { project(id: $x) { isPublic } }", {
    ...anyButProject,
    ...idsBut("Project"),
    ...NAMES,
  }),
  ...["stop", "bookmark", "archive", "delete"]
    .map((verb) => `${verb}Runs(ids: [$x])`)
    .map((field) => doorOf(field, `mutation ($x: ID!) { ${field} { __typename } }`, anyButRun)),
  ...[...Object.keys(LOOK_UPS), "run"].map((field) =>
    doorOf(
      `${field}(id:), of which nothing is asked that costs a request`,
      `query ($x: ID!) { ${field}(id: $x) { id } }`,
      anyId,
    ),
  ),
  doorOf("node(name:)", "query ($x: String) { node(name: $x) { uuid } }", UNFIT),
  ...["statuses", "metrics", "jobs"].map((list) =>
    doorOf(`Experiment.${list}(after:)`, experimentIn(`${list}(after: $x) { totalCount }`), NO_CURSORS),
  ),
  doorOf("Experiment.logs(after:)", experimentIn("logs(after: $x) { text }"), {
    ...NO_CURSORS,
    "a cursor of a list": opaque("offset=20#0"),
  }),
  ...[
    `experimentJob(id: "${IDS["ExperimentJob"]}")`,
    `job(id: "ada.mnist.jobs.3")`,
    `buildJob(id: "ada.mnist.builds.9")`,
    `group(id: "ada.mnist.5")`,
  ].map((field) =>
    doorOf(
      `${field}.statuses(after:)`,
      `query ($x: String) { ${field} { statuses(after: $x) { totalCount } } }`,
      {
        ...NO_CURSORS,
        "a cursor of a log": opaque("byte:20"),
      },
    ),
  ),
];

/** A gateway before a service that knows everything, and a question that tells only the errors' codes. */
async function open() {
  const service = await startFake(() => ({ json: { id: 1, name: "node-1", results: [] } }));
  const { ask } = await startGateway({
    upstream: service,
    env: { MAX_PAGE_SIZE: "500", MAX_LOG_BYTES: "1048576" },
  });
  const codes = async (query: string, x: unknown) => codesOf(await ask(query, { x }));
  return { service, codes };
}

describe("a text that cannot name anything is refused before anything is sent", () => {
  const tried = doors.map((door, index) => ({
    ...door,
    given: everyNth(Object.entries(door.texts), 4, index),
  }));

  test.each(tried)("in $argument", async ({ query, given }) => {
    const { service, codes } = await open();
    const told: Record<string, unknown> = {};
    for (const [title, text] of given) told[title] = await codes(query, text);
    expect(told).toEqual(Object.fromEntries(given.map(([title]) => [title, ["BAD_USER_INPUT"]])));
    expect(service.calls()).toEqual([]);
  });
});

const beyond = [-2_147_483_649, -1, 0, 2_147_483_648, 1.5, Number.MAX_SAFE_INTEGER, "1", true, [], {}];
const bounded = (field: string) => `query ($x: Int) { experiment(id: "ada.mnist.42") { ${field} } }`;

describe("a number outside its bounds is refused before anything is sent", () => {
  test.each([
    ["statuses(first:)", bounded("statuses(first: $x) { totalCount }"), [...beyond, 501]],
    ["metrics(first:)", bounded("metrics(first: $x) { totalCount }"), [...beyond, 501]],
    ["jobs(first:)", bounded("jobs(first: $x) { totalCount }"), [...beyond, 501]],
    ["logs(maxBytes:)", bounded("logs(maxBytes: $x) { text }"), [...beyond, 1_048_577]],
    ["logs(tailLines:)", bounded("logs(tailLines: $x) { text }"), [...beyond, 5_001]],
    ["metricSeries(maxPoints:)", bounded("metricSeries(maxPoints: $x) { name }"), [...beyond, 1, 5_001]],
    [
      "node(sequence:)",
      "query ($x: Int) { node(sequence: $x) { uuid } }",
      beyond.filter((number) => number !== 0),
    ],
  ])("in %s", async (_, query, numbers) => {
    const { service, codes } = await open();
    for (const number of numbers)
      expect([number, await codes(query, number)]).toEqual([number, ["BAD_USER_INPUT"]]);
    expect(service.calls()).toEqual([]);
  });

  test.each([
    ["statuses(first:)", bounded("statuses(first: $x) { totalCount }"), [1, 500]],
    ["logs(maxBytes:)", bounded("logs(maxBytes: $x) { text }"), [1, 1_048_576]],
    ["logs(tailLines:)", bounded("logs(tailLines: $x) { text }"), [1, 5_000]],
    ["metricSeries(maxPoints:)", bounded("metricSeries(maxPoints: $x) { name }"), [2, 5_000]],
  ])("and one at its bounds is taken in %s", async (_, query, numbers) => {
    const { service, codes } = await open();
    for (const number of numbers) expect(await codes(query, number)).toEqual([]);
    expect(service.calls()).toHaveLength(numbers.length);
  });
});

test("more ids than 100 are refused before anything is sent", async () => {
  const { service, codes } = await open();
  const query = "query ($x: [ID!]!) { entities(ids: $x) { id ... on Trackable { uuid } } }";
  expect(await codes(query, Array(101).fill(IDS["Experiment"]))).toEqual(["BAD_USER_INPUT"]);
  expect(service.calls()).toEqual([]);
});

test("one hostile id among others is one null, and the others are there", async () => {
  const service = await startFake(() => ({ json: { id: 1, uuid: "u" } }));
  const { ask } = await startGateway({ upstream: service });
  const ids = [IDS["Experiment"], globalId("Experiment:../x/1"), IDS["Job"]];
  const query = "query ($ids: [ID!]!) { entities(ids: $ids) { ... on Trackable { uuid } } }";
  const message = `ids[1]: expected a name without blanks, control characters and / \\ ? # %, got ".."`;
  expect(outcomeOf(await ask(query, { ids }))).toEqual({
    data: { entities: [{ uuid: "u" }, null, { uuid: "u" }] },
    errors: [failure("entities.1", "BAD_USER_INPUT", message)],
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/jobs/3/"]);
});

test.each([
  ["neither", "{ node { uuid } }"],
  ["both", `{ node(name: "node-1", sequence: 1) { uuid } }`],
])("a machine is named by its name or its number: %s is refused", async (_, query) => {
  const { service, codes } = await open();
  expect(await codes(query, null)).toEqual(["BAD_USER_INPUT"]);
  expect(service.calls()).toEqual([]);
});

test("a refusal quotes no more than the beginning of what came, and no control character", async () => {
  const service = await startFake(() => undefined);
  const { ask } = await startGateway({ upstream: service });
  const { errors } = await ask("query ($x: ID!) { experiment(id: $x) { uuid } }", {
    x: `\n\u001b[31m${"a".repeat(10_000)}`,
  });
  expect(errors?.[0]?.message).toMatch(/^\P{Cc}{1,200}$/u);
});

/** Whether a server that tidies up paths would take it for another one. */
const isRewritten = (path: string) => new URL(path, "http://service").pathname !== path;

const BELOW_A_PROJECT = /^\/api\/v1\/([^/?#]+)\/([^/?#]+)\/experiments\/\d+\/$/;

describe("whatever is given as an id, a request stays below its project", () => {
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

  test("as a global id and as a dotted name", async () => {
    const service = await startFake(() => ({ json: { id: 1, uuid: "u" } }));
    const { ask } = await startGateway({ upstream: service });
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
      { numRuns: cases(100, 500), examples: [["ada.mnist.42"]] },
    );
    // Without one request that went through nothing would be proved.
    expect(service.seen().length).toBeGreaterThan(0);
  });
});
