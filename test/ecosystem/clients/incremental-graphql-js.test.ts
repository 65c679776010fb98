import { readFileSync } from "node:fs";
import * as newer from "graphql-17";
import * as older from "graphql-17-alpha.2";
import type { GraphQLFormattedError } from "graphql";
import { expect, test } from "vitest";
import { startFake, type FakeResponse } from "../../support/fake.ts";
import { startGateway } from "../../support/gateway.ts";
import { askIncrementally, nullAt, type Path, type PayloadJson } from "../../support/incremental.ts";
import { html } from "../../support/replies.ts";

/*
 * Compares both incremental formats with the formats of graphql-js for the same data: the format of August 2022 with release
 * 17.0.0-alpha.2, and the newer format with release 17. Payloads are sent when they are ready, so only their contents are compared, not how
 * they are grouped into messages.
 */

/** The exports of either release that this test uses. */
interface GraphqlJs {
  readonly parse: (text: string) => unknown;
  readonly buildSchema: (sdl: string, options: object) => unknown;
  readonly experimentalExecuteIncrementally: (args: object) => unknown;
  readonly GraphQLError: new (message: string, options: object) => Error;
}

interface Incremental {
  readonly initialResult: PayloadJson;
  readonly subsequentResults: AsyncIterable<PayloadJson>;
}

const SDL = readFileSync(new URL("../../../schema/schema.graphql", import.meta.url), "utf8");

/** A part of a payload in either format. */
interface Part {
  readonly id?: string;
  readonly path?: Path;
  readonly subPath?: Path;
  readonly label?: string;
  readonly data?: unknown;
  readonly items?: readonly unknown[] | null;
  readonly errors?: readonly GraphQLFormattedError[];
}

/** The contents of payloads, in a fixed order: the items of lists one by one, parts by path and label. */
function contentsOf(payloads: readonly PayloadJson[]) {
  const [{ data, errors } = {}, ...later] = structuredClone(payloads);
  const pending = new Map<string, Part>();
  const items = new Map<string, number>();
  const contents: object[] = [];
  for (const { id, ...announced } of payloads[0]?.pending ?? []) pending.set(id, announced);
  for (const payload of later) {
    for (const { id, ...announced } of payload.pending ?? []) pending.set(id, announced);
    // Safe: the parts of either format have only these keys.
    for (const { id, subPath = [], ...part } of (payload.incremental ?? []) as readonly Part[]) {
      const { path = part.path ?? [], label = part.label } =
        (id === undefined ? null : pending.get(id)) ?? {};
      const of = {
        path: id === undefined ? path : [...path, ...subPath],
        ...(label !== undefined && { label }),
      };
      if (!part.items) contents.push({ ...of, data: part.data, ...(part.errors && { errors: part.errors }) });
      else for (const error of part.errors ?? []) contents.push({ error });
      for (const item of part.items ?? []) {
        const list = id === undefined ? path.slice(0, -1) : path;
        const next = items.get(list.join()) ?? Number(id === undefined ? path.at(-1) : -1);
        items.set(list.join(), next + 1);
        contents.push({ ...of, path: id === undefined ? [...list, next] : list, item });
      }
    }
    for (const { id, ...completed } of (payload as { completed?: readonly Part[] }).completed ?? [])
      contents.push({ ...pending.get(id ?? ""), ...completed, isCompleted: true });
  }
  const flags = new Set(payloads.slice(0, -1).map(({ hasNext }) => hasNext));
  const asText = contents.map((part) => JSON.stringify(part, sortKeys)).toSorted();
  return {
    first: { data, ...(errors && { errors }) },
    contents: asText.map((text) => JSON.parse(text) as object),
    hasNext: [...flags, payloads.at(-1)?.hasNext],
  };
}

const sortKeys = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

/** A part that may have more fields. */
const orMore = (part: object): object =>
  "data" in part ? { ...part, data: expect.objectContaining(Object(part.data)) as unknown } : part;

/** The result of graphql-js for the data and errors of a complete result. */
async function answerOf(
  graphql: GraphqlJs,
  { data, errors = [] }: PayloadJson,
  source: string,
  variableValues: object,
): Promise<readonly PayloadJson[]> {
  const failures = new Map(
    errors.map(({ message, path = [], extensions }) => [path.join(), [path, message, extensions] as const]),
  );
  const root = structuredClone(data);
  // Restores the path of an error that is below a null.
  for (const [path] of failures.values()) {
    const place = nullAt(root, path);
    if (place.length < path.length) set(root, place, {});
  }
  const failureAt = (path: Path): Error | undefined => {
    const [, message, extensions] = failures.get(path.join()) ?? [];
    return message === undefined ? message : new graphql.GraphQLError(message, { extensions });
  };
  const pathOf = (path: { prev?: object; key: string | number } | undefined): Path =>
    path ? [...pathOf(path.prev as typeof path), path.key] : [];
  const fieldResolver = (parent: object, _: object, __: unknown, info: { path: { key: string } }) => {
    const path = pathOf(info.path);
    const value: unknown = Reflect.get(parent, info.path.key);
    const own = failureAt(path);
    if (own || !Array.isArray(value)) return own ?? value;
    return value.map((item: unknown, index) => failureAt([...path, index]) ?? item);
  };
  const result = (await graphql.experimentalExecuteIncrementally({
    schema: graphql.buildSchema(SDL, { assumeValidSDL: true, assumeValid: true }),
    document: graphql.parse(source),
    rootValue: root,
    variableValues,
    fieldResolver,
    typeResolver: ({ __typename }: { readonly __typename: string }) => __typename,
  })) as Incremental;
  const payloads = [result.initialResult];
  for await (const payload of result.subsequentResults) payloads.push(payload);
  // The payloads as they are sent.
  return JSON.parse(JSON.stringify(payloads)) as readonly PayloadJson[];
}

function set(root: unknown, path: Path, value: unknown): void {
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => Reflect.get(Object(at), key), root);
  Reflect.set(Object(parent), path.at(-1) ?? "", value);
}

const status = (id: number) => ({ id, status: "running", message: `${id}` });
const RECORDS: Readonly<Record<string, FakeResponse>> = {
  "experiments/3/": {
    json: {
      id: 3,
      unique_name: "ada.mnist.3",
      last_status: "running",
      description: "One",
      build_job: "ada.mnist.builds.1",
      original: "ada.mnist.2",
    },
  },
  "experiments/4/": { json: { id: 4, unique_name: "ada.mnist.4", build_job: "ada.mnist.builds.9" } },
  "experiments/3/statuses": { json: { count: 3, results: [1, 2, 3].map(status) } },
  "builds/1/": { json: { id: 1, unique_name: "ada.mnist.builds.1", description: "A build." } },
  "builds/9/": html(500),
};

const IDS = `ids: ["ada.mnist.experiments.3", "?", "ada.mnist.builds.1"]`;

interface Differs {
  /** Whether a fragment repeats earlier fields, which graphql-js 17 omits. */
  readonly repeats?: boolean;
  /** The path at which graphql-js reports the error. The gateway reports it at the object whose record failed. */
  readonly failsAt?: Path;
}

test.each<[string, string, Differs?]>([
  [
    "a fragment",
    `experiment(id: "ada.mnist.3") { id ... @defer(if: $later, label: "b") { buildJob { description } } }`,
  ],
  [
    "nested and adjacent fragments",
    `experiment(id: "ada.mnist.3") {
      ... @defer(if: $later, label: "a") { description buildJob { id ... @defer(if: $later) { description } } }
      ... @defer(if: $later, label: "c") { tags }
      status
    }`,
  ],
  [
    "a list with streamed items",
    `experiment(id: "ada.mnist.3") { statuses { nodes @stream(if: $later, initialCount: 1, label: "s") { id message } } }`,
  ],
  [
    "items with fragments, one of which fails",
    `entities(${IDS}) @stream(if: $later, initialCount: 0) { __typename id ... on Run @defer(if: $later) { description } }`,
  ],
  [
    "a failing part of a fragment",
    `experiment(id: "ada.mnist.3") { id ... @defer(if: $later) { tags original { status } } }`,
  ],
  [
    "a fragment that fails as a whole",
    `experiment(id: "ada.mnist.4") { id buildJob { ... @defer(if: $later, label: "late") { status } } }`,
    { failsAt: ["experiment", "buildJob", "status"] },
  ],
  [
    "a fragment that repeats delivered fields",
    `experiment(id: "ada.mnist.3") { status ... @defer(if: $later) { status description } }`,
    { repeats: true },
  ],
])("%s: both incremental formats match graphql-js", async (_, selection, { repeats, failsAt } = {}) => {
  const service = await startFake(({ path }) => RECORDS[path.replace("/api/v1/ada/mnist/", "")]);
  const { url } = await startGateway({ upstream: service });
  const query = `query ($later: Boolean!) { ${selection} }`;
  const ask = (accept: string, later: boolean) =>
    askIncrementally(
      url,
      { query, variables: { later } },
      { authorization: "token t", "x-request-id": "request-1", accept },
    );
  const [answer = {}] = await ask("application/json", false);
  const errors = answer.errors?.map((error) => ({ ...error, path: failsAt ?? error.path }));
  const whole = { ...answer, ...(errors && { errors }) } as PayloadJson;
  for (const [accept, graphql] of [
    ["multipart/mixed;deferSpec=20220824", older],
    ["multipart/mixed;incrementalSpec=v0.2", newer],
  ] as const) {
    // Safe: both releases have these functions.
    const reference = await answerOf(graphql as unknown as GraphqlJs, whole, query, { later: true });
    const [path, of] = [failsAt, answer.errors?.[0]?.path].map((each) => JSON.stringify(each ?? null));
    const reported = JSON.stringify(reference).replaceAll(`"path":${path}`, `"path":${of}`);
    const [own, expected] = [contentsOf(await ask(accept, true)), contentsOf(JSON.parse(reported))];
    const mayHaveMore = repeats && graphql === newer;
    expect(own).toEqual(mayHaveMore ? { ...expected, contents: expected.contents.map(orMore) } : expected);
  }
});
