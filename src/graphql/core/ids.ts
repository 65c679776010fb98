import { segment } from "../../rest/api/endpoint.ts";
import { InputError } from "../../errors.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { isNumber } from "../../rest/api/reference.ts";
import { type Address, type Kind, type Resource, toResource } from "./resource.ts";
import { kinds, kindsByName } from "./kinds.ts";
import type { TypeNames } from "./type-names.ts";

/*
 * Global ids: base64url of `Kind:parameter/parameter`. They hold the address, because that is what the service needs
 * and because an id must be known from a reference alone. They give no rights.
 */

export const encodeId = (name: string, segments: readonly string[]): string =>
  Buffer.from(`${name}:${segments.join("/")}`).toString("base64url");

export const idOf = ({ kind, address }: Resource, names: TypeNames): string =>
  encodeId(
    names.served(kind.name),
    kind.parameters.map((name) => address[name] ?? ""),
  );

/** Longest id that is decoded, in characters. */
const MAX_ID_LENGTH = 1_000;

/** The resource behind a global id of any kind. Throws `InputError`. */
export function decodeId(argument: string, id: string, names: TypeNames): Resource {
  const text = id.length > MAX_ID_LENGTH ? "" : Buffer.from(id, "base64url").toString("utf8");
  const [, name = "", segments = ""] = /^(\w+):(.*)$/s.exec(text) ?? [];
  const kind = kindsByName.get(names.ours(name) ?? "");
  const values = segments === "" ? [] : segments.split("/");
  if (!kind || values.length !== kind.parameters.length || Buffer.from(text).toString("base64url") !== id) {
    throw new InputError(`${argument}: expected a global id, got ${quote(id)}${hintFor(id, names)}`);
  }
  const address = Object.fromEntries(kind.parameters.map((each, index) => [each, values[index] ?? ""]));
  return toResource(kind, checked(argument, address));
}

/** Which fields take a dotted name; empty when the text is none. The name alone does not tell the kind. */
function hintFor(text: string, names: TypeNames): string {
  if (text.length > MAX_ID_LENGTH) return "";
  const fields = Object.values<Kind>(kinds)
    .filter(({ rootField, ...kind }) => rootField !== null && kind.parseName(text) !== null)
    .map(({ rootField }) => `\`${names.servedField(rootField ?? "")}(id:)\``);
  return fields.length === 0 ? "" : `; a name is taken by ${fields.join(" or ")}`;
}

/** A resource of one kind by its global id or its dotted name. Throws `InputError`, also for an id of another kind. */
export function identify<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  id: string,
  names: TypeNames,
): Resource<R, At> {
  if (id.includes(".")) return named(kind, argument, id);
  const resource = decodeId(argument, id, names);
  // The names are equal, so the kinds are.
  if (resource.kind.name === kind.name) return resource as Resource<R, At>;
  throw ofAnotherKind(argument, names.served(kind.name), resource, names);
}

/**
 * A resource of one kind by the name that a caller gives it. The name leads to the address and is not taken for the
 * resource's own: a caller may have a wrong group or role in it. Throws `InputError`.
 */
export function named<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  name: string,
): Resource<R, At> {
  const address = name.length > MAX_ID_LENGTH ? null : kind.parseName(name);
  if (address) return toResource(kind, checked(argument, address));
  const orName = kind.exampleName === null ? "" : ` or a name such as ${kind.exampleName}`;
  throw new InputError(`${argument}: expected a global id${orName}, got ${quote(name)}`);
}

const isRun = (resource: Resource): resource is Resource<RunnableRecord> => resource.kind.isRun;

/** A run of any kind by its global id. Throws `InputError`. */
export function identifyRun(argument: string, id: string, names: TypeNames): Resource<RunnableRecord> {
  const resource = decodeId(argument, id, names);
  if (isRun(resource)) return resource;
  throw ofAnotherKind(argument, "run", resource, names);
}

const ofAnotherKind = (argument: string, expected: string, { kind }: Resource, names: TypeNames) =>
  new InputError(`${argument}: expected the id of a ${expected}, got the id of a ${names.served(kind.name)}`);

/** The address, when each of its segments can stand in a path and its numbers are numbers. */
export function checked<At extends Address>(argument: string, address: At): At {
  for (const [name, value] of Object.entries(address)) {
    if (name === "id" || name === "experiment") number(argument, value);
    else segment(argument, value);
  }
  return address;
}

/** An integer id of the service. Throws `InputError`. */
export function number(argument: string, value: string): string {
  if (isNumber(value)) return value;
  throw new InputError(`${argument}: expected an integer such as 42, got ${quote(value)}`);
}

const quote = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
