import { segment } from "../../rest/api/endpoint.ts";
import { InputError } from "../../errors.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { isNumber } from "../../rest/api/reference.ts";
import { type Address, type Handle, handle, type Kind } from "./resource.ts";
import { kinds, kindsByName } from "./kinds.ts";
import type { TypeNames } from "./type-names.ts";

/*
 * Global ids: base64url of `Kind:segment/segment`. They hold the address, because that is what the service needs
 * and because an id must be known from a reference alone. They give no rights.
 */

export const encodeId = (name: string, segments: readonly string[]): string =>
  Buffer.from(`${name}:${segments.join("/")}`).toString("base64url");

export const idOf = ({ kind, at }: Handle, names: TypeNames): string =>
  encodeId(
    names.served(kind.name),
    kind.segments.map((name) => at[name] ?? ""),
  );

/** Longest id that is looked at. */
const LONGEST_ID = 1_000;

/** The thing behind a global id of any kind. Throws `InputError`. */
export function decodeId(argument: string, id: string, names: TypeNames): Handle {
  const text = id.length > LONGEST_ID ? "" : Buffer.from(id, "base64url").toString("utf8");
  const [, name = "", segments = ""] = /^(\w+):(.*)$/s.exec(text) ?? [];
  const kind = kindsByName.get(names.ours(name) ?? "");
  const values = segments === "" ? [] : segments.split("/");
  if (!kind || values.length !== kind.segments.length || Buffer.from(text).toString("base64url") !== id) {
    throw new InputError(`${argument}: expected a global id, got ${quote(id)}${hintFor(id, names)}`);
  }
  const at = Object.fromEntries(kind.segments.map((each, index) => [each, values[index] ?? ""]));
  return handle(kind, checked(argument, at));
}

/** Which fields take a dotted name; empty when the text is none. The name alone does not tell the kind. */
function hintFor(text: string, names: TypeNames): string {
  if (text.length > LONGEST_ID) return "";
  const fields = Object.values<Kind>(kinds)
    .filter(({ lookUp, ...kind }) => lookUp !== null && kind.parse(text) !== null)
    .map(({ lookUp }) => `\`${names.servedField(lookUp ?? "")}(id:)\``);
  return fields.length === 0 ? "" : `; a name is taken by ${fields.join(" or ")}`;
}

/** A thing of one kind by its global id or its dotted name. Throws `InputError`, also for an id of another kind. */
export function identify<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  id: string,
  names: TypeNames,
): Handle<R, At> {
  if (id.includes(".")) return named(kind, argument, id);
  const thing = decodeId(argument, id, names);
  // The names are equal, so the kinds are.
  if (thing.kind.name === kind.name) return thing as Handle<R, At>;
  throw ofAnotherKind(argument, names.served(kind.name), thing, names);
}

/**
 * A thing of one kind by the name that a caller gives it. The name leads to the address and is not taken for the
 * thing's own: a caller may have a wrong group or role in it. Throws `InputError`.
 */
export function named<R extends object, At extends Address>(
  kind: Kind<R, At>,
  argument: string,
  name: string,
): Handle<R, At> {
  const at = name.length > LONGEST_ID ? null : kind.parse(name);
  if (at) return handle(kind, checked(argument, at));
  const orName = kind.example === null ? "" : ` or a name such as ${kind.example}`;
  throw new InputError(`${argument}: expected a global id${orName}, got ${quote(name)}`);
}

const isRun = (thing: Handle): thing is Handle<RunnableRecord> => thing.kind.isRun;

/** A run of any kind by its global id. Throws `InputError`. */
export function identifyRun(argument: string, id: string, names: TypeNames): Handle<RunnableRecord> {
  const thing = decodeId(argument, id, names);
  if (isRun(thing)) return thing;
  throw ofAnotherKind(argument, "run", thing, names);
}

const ofAnotherKind = (argument: string, expected: string, { kind }: Handle, names: TypeNames) =>
  new InputError(`${argument}: expected the id of a ${expected}, got the id of a ${names.served(kind.name)}`);

/** The address, when each of its segments can stand in a path and its numbers are numbers. */
export function checked<At extends Address>(argument: string, at: At): At {
  for (const [name, value] of Object.entries(at)) {
    if (name === "id" || name === "experiment") number(argument, value);
    else segment(argument, value);
  }
  return at;
}

/** An integer id of the service. Throws `InputError`. */
export function number(argument: string, value: string): string {
  if (isNumber(value)) return value;
  throw new InputError(`${argument}: expected an integer such as 42, got ${quote(value)}`);
}

const quote = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
