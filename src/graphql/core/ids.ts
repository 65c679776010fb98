import { type AnyEndpoint, segment } from "../../rest/api/endpoint.ts";
import { fromBase64url, isNumber, type RunAddress, toBase64url } from "../../rest/api/reference.ts";
import { InputError, GatewayError } from "../../errors.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { Session } from "../../rest/session/session.ts";
import {
  type Address,
  fetchMore,
  type Kind,
  nullIfNotFound,
  type Resource,
  toResource,
  requireVerification,
} from "./resource.ts";
import { kinds, kindsByName, type ProjectAddress } from "./kinds.ts";
import { arg, computedFrom, type PothosTypes } from "./builder.ts";
import type { ResourceRef } from "./fields.ts";
import type { ChildOf } from "./refs.ts";

/*
 * Global ids: base64url of `Kind:parameter/parameter`, which is the address of the resource. An id can be created from a reference without
 * an upstream request, and needs none to be resolved. Ids are not secret and grant no access.
 */

/** Joins the path parameters of a resource in the order of its global id: `ada/mnist/3`. */
export function pathOf({ kind, address }: Resource): string {
  let path = "";
  for (const name of kind.parameters) path += path === "" ? address[name] : `/${address[name]}`;
  return path;
}

/** Identifies a resource among all kinds: `Job/ada/mnist/3`. */
export const keyOf = (resource: Resource): string => `${resource.kind.name}/${pathOf(resource)}`;

export const idOf = (resource: Resource): string => toBase64url(`${resource.kind.name}:${pathOf(resource)}`);

/** Maximum length of an id that is decoded, in characters. */
const MAX_GLOBAL_ID_LENGTH = 1_000;

const decoded = (id: string): string => (id.length > MAX_GLOBAL_ID_LENGTH ? "" : fromBase64url(id));

/**
 * Decodes a global id. Throws `InputError` for an invalid id, and for a kind that is not expected. Without `expected.kinds`, any kind is
 * accepted.
 */
export function decodeId(
  argument: string,
  id: string,
  expected: Candidates = { kinds: [], one: "" },
): Resource {
  const text = decoded(id);
  const [, name = "", segments = ""] = /^(\w+):(.*)$/s.exec(text) ?? [];
  const kind = kindsByName.get(name);
  const values = segments === "" ? [] : segments.split("/");
  if (!kind || values.length !== kind.parameters.length || toBase64url(text) !== id)
    throw notAnId(argument, id, expected.kinds);
  const address: Record<string, string> = {};
  for (const [index, value] of values.entries()) address[kind.parameters[index] ?? ""] = value;
  const resource = toResource(kind, validateAddress(argument, address));
  if (expected.kinds.length === 0 || expected.kinds.some((each) => each.name === name)) return resource;
  throw new InputError(`${argument}: expected the id of ${a(expected.one)}, got the id of ${a(name)}`);
}

function notAnId(argument: string, id: string, expected: readonly Kind[]): InputError {
  const examples = expected.flatMap(({ exampleName }) => exampleName ?? []);
  // Of three or more examples, the message has only the first.
  const example = (examples.length > 2 ? examples.slice(0, 1) : examples).join(" or ");
  return new InputError(
    `${argument}: expected a global id${example && ` or a name such as ${example}`}, got ${quote(id)}`,
  );
}

/**
 * Returns the number of a record from its global id. The record belongs to a resource and has no endpoint, such as a `MetricRecord`.
 * Returns null for any other string. Throws `InputError` if the record belongs to a resource other than `parent`.
 */
export function recordIdIn(typeName: string, id: string, parent: Resource): number | null {
  const text = decoded(id);
  if (!text.startsWith(`${typeName}:`)) return null;
  const within = `${typeName}:${pathOf(parent)}/`;
  const record = text.slice(within.length);
  if (text.startsWith(within) && isNumber(record)) return Number(record);
  throw new InputError("after: expected the id of a record of this resource, got that of another");
}

export const a = (noun: string): string => `${/^[AEIO]/u.test(noun) ? "an" : "a"} ${noun}`;

/** The kinds that an argument accepts. `one`: the noun for them in error messages. */
export interface Candidates {
  readonly kinds: readonly Kind[];
  readonly one: string;
}

/** Resolves a global id or dotted name to a resource of one kind. Throws `InputError`. */
export function resolveId<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  id: string,
): Resource<R, At> {
  if (id.includes(".")) return resolveName(kind, argument, id);
  // Safe: kinds are equal when their names are.
  return decodeId(argument, id, { kinds: [kind], one: kind.name }) as Resource<R, At>;
}

/** Resolves a global id or a name to a resource of one kind. Unlike `resolveId`, accepts names without a dot. Throws `InputError`. */
export function resolveIdOrName<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  id: string,
): Resource<R, At> {
  const [name = ""] = decoded(id).split(":", 1);
  return name !== decoded(id) && kindsByName.has(name)
    ? resolveId(kind, argument, id)
    : resolveName(kind, argument, id);
}

/**
 * Resolves a name from the caller to a resource of one kind. Throws `InputError` for an invalid name. The resource has the address in the
 * name. If the name contains more, such as a group, reading the resource also verifies that its record has this name.
 */
export function resolveName<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  name: string,
): Resource<R, At> {
  const parsed = name.length > MAX_GLOBAL_ID_LENGTH ? null : kind.parseName(name);
  if (!parsed) throw notAnId(argument, name, [kind]);
  const address = validateAddress(argument, parsed);
  const saysMore = name !== kind.formatName(address) && name !== kind.formatReference(address);
  return toResource(saysMore && kind.nameField === "uniqueName" ? withName(kind, name) : kind, address);
}

/** Returns a copy of the kind whose `fetch` rejects with `NOT_FOUND` unless the record has this name. */
function withName<R extends object, At extends Address>(kind: Kind<R, At>, name: string): Kind<R, At> {
  return {
    ...kind,
    verifiedBy: "record",
    fetch: async (resource, keys, session) => {
      const record = await kind.fetch(resource, [...keys, "unique_name"], session);
      const { unique_name: own }: { readonly unique_name?: unknown } = record;
      if (typeof own !== "string" || own === name || withoutGroup(own) === name) return record;
      throw new GatewayError("NOT_FOUND", `Not found: ${name}. There is ${own}.`);
    },
  };
}

/** Removes the number of the group from the name of an experiment's job. Callers may omit this number. */
const withoutGroup = (name: string): string => name.split(".").toSpliced(2, 1).join(".");

/** Resolves a global id or name to one resource, or to one of each kind if several kinds can have the name. Throws `InputError`. */
function resolveAll(
  candidates: Candidates,
  argument: string,
  id: string,
): readonly [Resource, ...Resource[]] {
  if (!id.includes(".")) return [decodeId(argument, id, candidates)];
  const fitting = candidates.kinds.filter(
    (kind) =>
      kind.nameField === "uniqueName" && id.length <= MAX_GLOBAL_ID_LENGTH && kind.parseName(id) !== null,
  );
  const [kind, ...others] = fitting;
  if (!kind) throw notAnId(argument, id, candidates.kinds);
  return [resolveName(kind, argument, id), ...others.map((each) => resolveName(each, argument, id))];
}

const eitherOf = (found: readonly Resource[]): string =>
  found.map(({ kind, address }) => kind.formatReference(address)).join(" or ");

/**
 * Resolves a global id or name to a resource of one of several kinds. Throws `InputError` for an invalid id, and for a name that two kinds
 * can have.
 */
export function resolveIdAmong(candidates: Candidates, argument: string, id: string): Resource {
  const found = resolveAll(candidates, argument, id);
  if (found.length === 1) return found[0];
  throw new InputError(
    `${argument}: expected ${eitherOf(found)}, got ${quote(id)}, which can be the name of either`,
  );
}

/**
 * Resolves a global id or name for a read. If two kinds can have the name, reads both in parallel and returns the one that exists.
 * Otherwise the resource is not read yet and is marked for verification. Throws `InputError` for an invalid id, and if both exist.
 */
export function findAmong(
  candidates: Candidates,
  argument: string,
  id: string,
  session: Session,
): Resource | Promise<Resource> {
  const found = resolveAll(candidates, argument, id);
  return found.length === 1
    ? requireVerification(found[0])
    : findExisting(found, session, `${argument}: expected ${eitherOf(found)}, got ${quote(id)}`);
}

async function findExisting(
  named: readonly Resource[],
  session: Session,
  refusal: string,
): Promise<Resource> {
  session.requireToken();
  const reads = named.map((each) => fetchMore(each, [], session).catch(nullIfNotFound));
  const [existing, ...others] = (await Promise.all(reads)).filter((each) => each !== null);
  if (!existing) throw new GatewayError("NOT_FOUND", `Not found: ${eitherOf(named)}.`);
  if (others.length > 0) throw new InputError(`${refusal}, the name of both`);
  return existing;
}

/** Converts the name of a run, as records have it, to the field `reference`. Returns a name unchanged if it cannot be parsed. */
export function referenceIn(kind: Kind, name: string): string {
  const address = kind.parseName(name);
  return address ? kind.formatReference(address) : name;
}

export const ALL: Candidates = { kinds: Object.values<Kind>(kinds), one: "object" };

/** The parent of a list of runs: a project, or a group. `address` is the address of the project. */
export interface RunsParent {
  readonly address: ProjectAddress;
  readonly group: RunAddress | null;
  readonly name: string;
}

const PARENTS: Candidates = { kinds: [kinds.Project, kinds.Group], one: "Group or Project" };

/** Resolves a global id or unique name to a project or group. Throws `InputError`. */
export function resolveRunsParent(argument: string, id: string): RunsParent {
  const { kind, address } = resolveIdAmong(PARENTS, argument, id);
  const name = kind.formatName(address);
  // Safe: an address has the parameters of its kind, here and below.
  if (kind.name === kinds.Project.name) return { address: address as ProjectAddress, group: null, name };
  const group = address as RunAddress;
  return { address: group, group, name };
}

const RUNS: Candidates = { kinds: ALL.kinds.filter(({ run }) => run), one: "run" };

export const resolveRunId = (argument: string, id: string) =>
  // Safe: all kinds of run have these records and addresses.
  resolveIdAmong(RUNS, argument, id) as Resource<RunnableRecord, RunAddress>;

/** Resolves the global id or name of a run for a read, like `findAmong`. */
export const findRun = (argument: string, id: string, session: Session) =>
  // Safe: all kinds of run have these records and addresses.
  findAmong(RUNS, argument, id, session) as
    | Resource<RunnableRecord, RunAddress>
    | Promise<Resource<RunnableRecord, RunAddress>>;

/** Returns `address`. Throws `InputError` if one of its values is not a valid path segment, or an id is not an integer. */
export function validateAddress<At extends Address>(argument: string, address: At): At {
  for (const [name, value] of Object.entries(address)) {
    if (name !== "id" && name !== "experiment") segment(argument, value);
    else if (!isNumber(value))
      throw new InputError(`${argument}: expected an integer such as 42, got ${quote(value)}`);
  }
  return address;
}

export const quote = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** The `id` argument of fields that find or change a resource of one kind. */
export const withId = ({ kind }: { readonly kind: Pick<Kind, "exampleName"> }) => ({
  id: arg.id({ required: true, description: `Global id, or name such as \`${kind.exampleName}\`.` }),
});

/** Description of an `id` argument that accepts objects of several kinds. */
export const ANY_KIND =
  "Global id, `reference` or unique name. A unique name that an experiment and a group can have is looked up as both, and refused if both exist: then write `ada.mnist.experiments.5` or `ada.mnist.groups.5`.";

/** Description of the field `reference`. */
export const REFERENCE =
  "Unique name that contains the kind. Every argument `id` accepts it: `ada.mnist.experiments.42`.";

/** The sentence that ends the description of a field whose endpoint needs a capability. */
export const requires = ({ capability }: Pick<AnyEndpoint, "capability">): string =>
  capability ? ` Requires \`${capability}\`.` : "";

/** A root field that looks up a resource by its id: `experiment: t.field(lookUp(Experiment, "An experiment."))`. */
export const lookUp = <R extends object, At extends Address>(
  target: ResourceRef<R, At>,
  description: string,
) => ({
  type: target,
  description,
  args: withId(target),
  resolve: (_: object, { id }: { id: string }): Resource<R, At> =>
    requireVerification(resolveId(target.kind, "id", id)),
});

/** The fields `id` and `internalId` of a record that belongs to a resource and has no endpoint, such as a `MetricRecord`. */
export const entryIds = <Parent extends Resource>(
  t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, ChildOf<Parent, { readonly id: number }>>,
  type: string,
  within: (parent: Parent) => string,
) => ({
  id: t.id({
    nullable: false,
    description: "Global id for client caches. No field looks it up.",
    resolve: ({ parent, record }) => toBase64url(`${type}:${within(parent)}/${record.id}`),
  }),
  internalId: t.field(computedFrom("ID", "Integer id in the service.", ({ record }) => `${record.id}`)),
});
