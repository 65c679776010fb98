import { segment, type AnyEndpoint } from "../../rest/api/endpoint.ts";
import { fromBase64url, toBase64url, isNumber, type RunAddress } from "../../rest/api/reference.ts";
import { InputError } from "../../errors.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { type Address, type Kind, type Resource, toResource, unverified } from "./resource.ts";
import { kinds, kindsByName, type ProjectAddress } from "./kinds.ts";
import { builder } from "./builder.ts";
import type { ResourceRef } from "./fields.ts";

/*
 * Global ids: base64url of `Kind:parameter/parameter`. They contain the address, which requests need and which a reference
 * alone determines. They grant no access.
 */

export const encodeId = (name: string, segments: readonly string[]): string =>
  toBase64url(`${name}:${segments.join("/")}`);

export const idOf = ({ kind, address }: Resource): string =>
  encodeId(
    kind.name,
    kind.parameters.map((name) => address[name] ?? ""),
  );

/** Longest id that is decoded, in characters. */
const MAX_ID_LENGTH = 1_000;

/** Decodes a global id of any kind to its resource. Throws `InputError`, which shows an example of a name. */
export function decodeId(argument: string, id: string, exampleName: string | null = null): Resource {
  const text = id.length > MAX_ID_LENGTH ? "" : fromBase64url(id);
  const [, name = "", segments = ""] = /^(\w+):(.*)$/s.exec(text) ?? [];
  const kind = kindsByName.get(name);
  const values = segments === "" ? [] : segments.split("/");
  if (!kind || values.length !== kind.parameters.length || toBase64url(text) !== id) {
    throw new InputError(`${argument}: expected a global id${orName(exampleName)}, got ${quote(id)}`);
  }
  const address = Object.fromEntries(kind.parameters.map((each, index) => [each, values[index] ?? ""]));
  return toResource(kind, checked(argument, address));
}

/**
 * Reads the number of a record below a resource from its global id, such as that of a `MetricRecord`. Returns null when the
 * text is not such an id; throws `InputError` when it belongs to another resource.
 */
export function recordIdIn(typeName: string, id: string, parent: Address): number | null {
  const text = id.length > MAX_ID_LENGTH ? "" : Buffer.from(id, "base64url").toString("utf8");
  const prefix = `${typeName}:`;
  if (!text.startsWith(prefix)) return null;
  const segments = text.slice(prefix.length).split("/");
  const record = segments.pop() ?? "";
  if (isNumber(record) && segments.join("/") === Object.values(parent).join("/")) return Number(record);
  throw new InputError("after: expected the id of a record of this resource, got that of another");
}

/** A noun with its article. */
const a = (noun: string): string => `${/^[AEIO]/u.test(noun) ? "an" : "a"} ${noun}`;

const orName = (example: string | null): string => (example === null ? "" : ` or a name such as ${example}`);

/** Finds a resource of one kind by global id or dotted name. Throws `InputError`, also for an id of another kind. */
export function identify<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  id: string,
): Resource<R, At> {
  if (id.includes(".")) return named(kind, argument, id);
  const resource = decodeId(argument, id, kind.exampleName);
  // Safe: kinds are equal when their names are.
  if (resource.kind.name === kind.name) return resource as Resource<R, At>;
  throw ofAnotherKind(argument, kind.name, resource);
}

/**
 * Finds a resource of one kind by a name from the caller. Only the address is taken from it, not the resource's name,
 * because its group or role may be wrong. Throws `InputError`.
 */
export function named<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  name: string,
): Resource<R, At> {
  const address = name.length > MAX_ID_LENGTH ? null : kind.parseName(name);
  if (address) return toResource(kind, checked(argument, address));
  throw new InputError(`${argument}: expected a global id${orName(kind.exampleName)}, got ${quote(name)}`);
}

/** Kinds of which one is asked for, and what messages call one. */
export interface Candidates {
  readonly kinds: readonly Kind[];
  readonly one: string;
  /** What tells the kind of a name that several of them can have; absent without it. */
  readonly toldBy?: string;
}

/** The argument that tells the kind, for messages. */
const KIND = "`kind: EXPERIMENT` or `kind: GROUP`";

/** The kinds whose unique names tell what they are, but for experiments and groups, which are spelled alike. */
const NAMED: Candidates = {
  kinds: Object.values<Kind>(kinds).filter(({ nameField }) => nameField === "uniqueName"),
  one: "object",
};

/** Finds a resource of any kind by global id, or by a unique name that only one kind can have. Throws `InputError`. */
export const identifyAny = (argument: string, id: string): Resource =>
  id.includes(".") ? identifyAmong(NAMED, argument, id) : decodeId(argument, id, EXAMPLE);

/** The same where an argument `kind` tells the kind of a name that several can have. */
export const identifyOfKind = (argument: string, id: string, kind: Kind | null): Resource =>
  id.includes(".")
    ? identifyAmong({ ...NAMED, toldBy: KIND }, argument, id, kind)
    : identifyAny(argument, id);

const EXAMPLE = kinds.job.exampleName;

/** The same among some kinds. `told` is that of a name that several of them can have. */
export function identifyAmong(
  { kinds: candidates, one, toldBy }: Candidates,
  argument: string,
  id: string,
  told: Pick<Kind, "name" | "exampleName"> | null = null,
): Resource {
  const examples = candidates.flatMap(({ exampleName }) => exampleName ?? []);
  // Two forms are told, of more the first.
  const example = (examples.length > 2 ? examples.slice(0, 1) : examples).join(" or ") || null;
  if (!id.includes(".")) {
    const resource = decodeId(argument, id, example);
    if (candidates.some(({ name }) => name === resource.kind.name)) return resource;
    throw ofAnotherKind(argument, one, resource);
  }
  const fitting = id.length > MAX_ID_LENGTH ? [] : candidates.filter((kind) => kind.parseName(id) !== null);
  if (fitting.length === 0)
    throw new InputError(`${argument}: expected a global id${orName(example)}, got ${quote(id)}`);
  const kind = fitting.length === 1 ? fitting[0] : fitting.find(({ name }) => name === told?.name);
  if (kind) return identify(kind, argument, id);
  const helps = told ? orName(told.exampleName) : toldBy ? `, or ${toldBy} as well` : "";
  throw new InputError(
    `${argument}: expected a global id${helps}, got ${quote(id)}, which can name ${fitting.map(({ name }) => name).join(" or ")}`,
  );
}

/** What has lists of runs. */
export const PARENTS: Candidates = { kinds: [kinds.project, kinds.group], one: "Group or Project" };

type RunResource = Resource<RunnableRecord, RunAddress>;

const isRun = (resource: Resource): resource is RunResource => resource.kind.run !== null;

const RUNS: Candidates = {
  kinds: Object.values<Kind>(kinds).filter(({ run }) => run !== null),
  one: "run",
  toldBy: KIND,
};

/** Finds a run by global id or unique name. `kind` is that of a name that several kinds can have. Throws `InputError`. */
export function identifyRun(
  argument: string,
  id: string,
  kind: Pick<Kind, "name" | "exampleName"> | null = null,
): RunResource {
  const resource = identifyAmong(RUNS, argument, id, kind);
  if (isRun(resource)) return resource;
  throw ofAnotherKind(argument, RUNS.one, resource);
}

/** The error for an id of another kind than the expected one. */
export const ofAnotherKind = (argument: string, expected: string, { kind }: Resource) =>
  new InputError(`${argument}: expected the id of ${a(expected)}, got the id of ${a(kind.name)}`);

/** Checks that each segment of an address is valid in a path and that its ids are integers. Throws `InputError`. */
export function checked<At extends Address>(argument: string, address: At): At {
  for (const [name, value] of Object.entries(address)) {
    if (name === "id" || name === "experiment") number(argument, value);
    else segment(argument, value);
  }
  return address;
}

/** Returns an integer id, or throws `InputError`. */
export function number(argument: string, value: string): string {
  if (isNumber(value)) return value;
  throw new InputError(`${argument}: expected an integer such as 42, got ${quote(value)}`);
}

/** Text from a caller in a message. */
export const quote = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** The `id` argument of fields that find or change a resource of one kind. */
export const withId = ({ kind }: { readonly kind: Pick<Kind, "exampleName"> }) =>
  builder.args((t) => ({
    id: t.id({
      required: true,
      description: `Global id, or unique name such as \`${kind.exampleName}\`.`,
    }),
  }));

/** What the `id` argument of fields takes that find or change an object of any kind. */
export const ANY_KIND =
  "Global id, or unique name such as `ada.mnist.jobs.3`. A name that an experiment and a group can have, such as `ada.mnist.5`, needs `kind`.";

/** What the `id` argument of a field takes that has no `kind` beside it: Relay lets `node(id:)` have none. */
export const ANY_OBJECT =
  "Global id, or a unique name that only one kind can have, such as `ada.mnist.jobs.3`. An experiment and a group can have the same name, which `run(id:, kind:)` and `entities(ids:, kind:)` tell apart.";

/** What the description of a field ends with whose endpoint belongs to a capability. */
export const requires = ({ optional }: Pick<AnyEndpoint, "optional">): string =>
  optional?.capability ? ` Requires the capability \`${optional.capability}\`.` : "";

/** A root field that finds a resource by its id: `experiment: t.field(lookUp(Experiment, "An experiment."))`. */
export const lookUp = <R extends object, At extends Address>(
  target: ResourceRef<R, At>,
  description: string,
) => ({
  type: target,
  description: `${description} Null with an error if it does not exist.`,
  args: withId(target),
  resolve: (_: object, { id }: { id: string }): Resource<R, At> =>
    unverified(identify(target.kind, "id", id)),
});

/** A field of a project that finds a run in it by number. */
export const memberOf = <R extends object>(target: ResourceRef<R, RunAddress>, description: string) => ({
  type: target,
  description: `${description} Null with an error if it does not exist.`,
  args: builder.args((t) => ({
    internalId: t.id({ required: true, description: "Integer id in the tracking service." }),
  })),
  resolve: (
    { address }: Resource<object, ProjectAddress>,
    { internalId }: { internalId: string },
  ): Resource<R, RunAddress> =>
    unverified(toResource(target.kind, { ...address, id: number("internalId", internalId) })),
});
