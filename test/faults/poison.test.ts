import {
  getNamedType,
  type GraphQLNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
} from "graphql";
import { expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { cases } from "../support/cases.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startBefore, startGateway } from "../support/gateway.ts";
import { readRecording, RECORDINGS } from "../support/replay.ts";
import { seeded } from "../support/seeded.ts";
import ODD_VALUES from "./odd-values.json" with { type: "json" };

/** First words of paths without an owner, and the number of owner and project names that follow them. */
const OF_NO_OWNER = new Map(
  ["users cluster nodes versions historylogs", "bookmarks archives", "searches activitylogs"].flatMap(
    (words, names) => words.split(" ").map((word) => [word, names] as const),
  ),
);

/** The kind of data at a path, without the names of owner and project: `jobs/1/statuses`. */
function shapeOf(path: string): string {
  const words = (path.split("?")[0] ?? "").split("/").slice(3).filter(Boolean);
  const [first = ""] = words;
  const names = OF_NO_OWNER.get(first);
  const own = names === undefined ? words.slice(2) : [first, ...words.slice(1 + names)];
  if (own.length === 0) return words.length === 1 ? "projects" : "project";
  return own.map((word) => (/^\d+$/.test(word) ? "1" : word)).join("/");
}

/** Recorded responses to reads, by the shape of their path. */
const RECORDED = new Map<string, unknown[]>();
for (const { method, status, json, path } of RECORDINGS.flatMap((name) => readRecording(name))) {
  if (method !== "GET" || status !== 200 || typeof json !== "object") continue;
  const shape = shapeOf(path);
  RECORDED.set(shape, [...(RECORDED.get(shape) ?? []), json]);
}

const nested = (wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = 1;
  for (let depth = 0; depth < 50; depth++) value = wrap(value);
  return value;
};

/** Replacements for a value. */
const VALUES: readonly unknown[] = [
  ...ODD_VALUES,
  "x".repeat(20_000),
  nested((inner) => [inner]),
  nested((inner) => ({ id: 1, results: inner })),
];
const CHANGES: readonly ((value: unknown) => unknown)[] = [
  ...VALUES.map((other) => () => structuredClone(other)),
  (value) => [value],
  (value) => ({ value }),
  (value) => JSON.stringify(value),
  (value) => (Array.isArray(value) ? { ...value } : Object.values(Object(value))),
  (value) => (Array.isArray(value) ? [...value, null, ...value] : 7),
];
const NAMES = "__proto__|constructor|toString|hasOwnProperty|length|toJSON|then||a.b|extra".split("|");

/** Every value in a body: the object that contains it, and its key. */
const placesOf = (node: unknown): (readonly [object, string])[] =>
  typeof node !== "object" || node === null
    ? []
    : Object.entries(node).flatMap(([key, value]) => [[node, key] as const, ...placesOf(value)]);

/** Keys that identify a record: without them the rest of the record is ignored. */
const IDENTITY = new Set(["id", "results", "sequence", "username", "name", "content_object", "project"]);

/** A body with one to four values replaced. Most bodies keep the keys that identify a record. */
function poisoned(body: unknown, draw: () => number): unknown {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(draw() * items.length)] as Item;
  const copy: unknown = structuredClone(body);
  const mayBeAnything = draw() < 0.15;
  for (let spots = 1 + Math.floor(draw() * 4); spots > 0; spots--) {
    const places = placesOf(copy).filter(([, key]) => mayBeAnything || !IDENTITY.has(key));
    if (places.length === 0) continue;
    const [node, key] = pick(places);
    const value: unknown = Reflect.get(node, key);
    const kind = draw();
    if (kind < 0.12) Reflect.deleteProperty(node, key);
    else if (kind < 0.3 && !Array.isArray(node)) {
      // Assignment would set the prototype, not a key with this name.
      Object.defineProperty(node, pick(NAMES), {
        value: pick([value, { polluted: true }, null]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else Reflect.set(node, key, pick(CHANGES)(value));
  }
  return copy;
}

/** Fields that lead to records of other root fields, and one whose value changes over time. */
const LEFT_OUT = new Set(
  "durationSeconds edges original project owner subject experiment user experimentGroup".split(" "),
);
const ARGUMENTS: Readonly<Record<string, string>> = { first: "(first: 3)", name: '(name: "loss")' };

/** Everything that can be selected of a type. */
function everything(type: GraphQLNamedType, depth: number): string {
  if (isUnionType(type)) {
    const members = type.getTypes().map((member) => `... on ${member.name} ${everything(member, depth)}`);
    return `{ __typename ${members.join(" ")} }`;
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return "";
  const selected = Object.values(type.getFields()).map(({ name, args, type: wrapped }) => {
    const given = args.map((each) => ARGUMENTS[each.name] ?? "").join("");
    if (args.some((each) => isRequiredArgument(each) && !(each.name in ARGUMENTS))) return "";
    const named = getNamedType(wrapped);
    if (LEFT_OUT.has(name)) return "";
    if (isLeafType(named)) return name + given;
    return depth === 0 ? "" : name + given + everything(named, depth - 1);
  });
  return `{ __typename ${selected.join(" ")} }`;
}

function all(name: string, depth = 3): string {
  const type = schema.getType(name);
  if (!type) throw new TypeError(`the schema has no type ${name}`);
  return everything(type, depth);
}

/** Bookmarks and archives of each kind. Their lists contain only the ids of entities. */
const KEPT = ["bookmarks", "archives"].flatMap((list) =>
  Object.entries({
    JOB: "Job",
    BUILD_JOB: "BuildJob",
    GROUP: "Group",
    PROJECT: "Project",
    EXPERIMENT: "Experiment",
  }).map(
    ([kind, type]) =>
      `${list}${kind}: ${list}(kind: ${kind}, first: 3) { nodes { ... on ${type} ${all(type, 0)} } }`,
  ),
);

const QUERIES = [
  `{ experiment(id: "alice.mnist.1") ${all("Experiment")} }`,
  `{ job(id: "alice.mnist.jobs.1") ${all("Job")} buildJob(id: "alice.mnist.builds.1") ${all("BuildJob")} }`,
  `{ group(id: "alice.mnist.1") ${all("Group")} }`,
  `{ project(id: "alice.mnist") ${all("Project")} }`,
  `{ viewer { ${KEPT.join(" ")} } }`,
  `{ viewer ${all("User")} cluster ${all("Cluster")} node(id: "node-1") ${all("Node")} experimentJob(id: "alice.mnist.1.1.master") ${all("ExperimentJob")} }`,
];

/**
 * An account without a name is not signed in, and a machine can be missing from its cluster. Names of owners and projects below the viewer
 * come from the service, and some of them cannot be requested.
 */
const BLAMES = ["UPSTREAM_BAD_RESPONSE", "UNAUTHENTICATED", "NOT_FOUND", "PAGE_LIMIT_REACHED"];

/** Expects an error for each null of the result: short, and with a code that blames the service. */
function expectToBlameTheService({ data, errors = [] }: Answer<unknown>): void {
  expect(data).toBeTypeOf("object");
  for (const { message, path = [], extensions } of errors) {
    expect(message.length).toBeLessThan(400);
    expect([...BLAMES, ...(path[0] === "viewer" ? ["BAD_USER_INPUT"] : [])]).toContain(extensions["code"]);
    let value = data;
    for (const step of path) if (value !== null) value = Reflect.get(Object(value), step);
    expect([path, value]).toEqual([path, null]);
  }
}

const hashOf = (text: string): number =>
  Array.from(text).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 7);

const POISONED = cases(500, 2_500);

test("corrupting thousands of recorded responses causes no internal error", async () => {
  /** Seed of the replacements. In round 0 nothing is replaced. */
  let round = 0;
  const served = new Map<string, number>();
  const service = await startFake(({ path }) => {
    const shape = shapeOf(path);
    const bodies = RECORDED.get(shape);
    if (!bodies || round === 0) return bodies && { json: bodies[0] };
    served.set(shape, (served.get(shape) ?? 0) + 1);
    const draw = seeded(hashOf(`${round} ${path}`));
    return { json: poisoned(bodies[Math.floor(draw() * bodies.length)], draw) };
  });
  const env = { MAX_DEPTH: "20", MAX_TOKENS: "100000", UPSTREAM_PROFILE: "polyaxon-0.4" };
  const { ask, logged } = await startGateway({ upstream: service, env });
  const askAll = () => Promise.all(QUERIES.map((query) => ask<unknown, unknown>(query)));
  /** A response without the values that differ between requests. */
  const lasting = (answers: unknown): unknown =>
    JSON.parse(JSON.stringify(answers, (key, value: unknown) => (key === "requestId" ? undefined : value)));

  const sound = await askAll();
  // Every project gets one of the recorded responses.
  for (const { errors = [] } of sound)
    expect(errors.filter(({ message }) => !message.includes("There is "))).toEqual([]);
  while ([...served.values()].reduce((sum, count) => sum + count, 0) < POISONED) {
    round++;
    for (const answer of await askAll()) expectToBlameTheService(answer);
  }
  // The number of kinds of lists and records that the queries read from the service.
  expect(served.size).toBe(35);
  expect(Math.min(...served.values())).toBeGreaterThanOrEqual(POISONED / 1_000);
  expect(logged()).not.toContain("unexpected");
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  round = 0;
  // The service may have named another user, which the gateway remembers until the next response.
  await askAll();
  expect(lasting(await askAll())).toEqual(lasting(sound));
});

test("JSON values may have any key, including `then`", async () => {
  const odd: unknown = JSON.parse(`{ "then": "that", "toJSON": 1 }`);
  const { ask } = await startBefore(() => ({ json: { id: 5, declarations: { odd }, config: odd } }));
  expect(
    await ask(`{ experiment(id: "alice.mnist.5") { parameter(name: "odd") { value } config { raw } } }`),
  ).toEqual({
    data: { experiment: { parameter: { value: odd }, config: { raw: odd } } },
  });
});
