import { InputError } from "../../errors.ts";
import type { Reader } from "./reader.ts";

/** The names between braces in a path: `{owner}/{project}/jobs/{id}/` has `owner`, `project` and `id`. */
type Holes<Path extends string> = Path extends `${string}{${infer Hole}}${infer Rest}`
  ? Hole | Holes<Rest>
  : never;

/** What fills the holes of a path, all as text. */
export type Params<Path extends string> = { readonly [Hole in Holes<Path>]: string };

/** One row of the service's document: a method, a path below `/api/v1/`, and the reader of its answer. */
interface Row<At, out Answer> {
  /** The template as it stands in the table: safe in logs, metrics and errors, which the filled path is not. */
  readonly path: string;
  readonly answer: Reader<Answer>;
  /** The path with its holes filled. Throws `InputError` when a value could leave its segment. */
  fill(at: At): string;
}

export interface Get<At, out Answer> extends Row<At, Answer> {
  readonly method: "GET";
}

/** A writing row. `Body` is what it sends as JSON; `undefined` when the document shows no body. */
export interface Command<At, out Answer, in Body = undefined> extends Row<At, Answer> {
  readonly method: "POST" | "PATCH" | "DELETE";
  /** Login is the one row that goes without the caller's token. */
  readonly anonymous: boolean;
  readonly encode: (body: Body) => string | null;
  /** The part of the body that no message may repeat. */
  readonly secretOf: (body: Body) => string | null;
}

export function get<Path extends string, Answer>(
  path: Path,
  answer: Reader<Answer>,
): Get<Params<Path>, Answer> {
  return { method: "GET", path, answer, fill: filler(path) };
}

const command =
  (method: Command<never, unknown>["method"]) =>
  <Path extends string, Answer, Body = undefined>(
    path: Path,
    answer: Reader<Answer>,
    options: {
      readonly body?: (body: Body) => string;
      readonly anonymous?: boolean;
      readonly secretOf?: (body: Body) => string;
    } = {},
  ): Command<Params<Path>, Answer, Body> => ({
    method,
    path,
    answer,
    fill: filler(path),
    encode: options.body ?? (() => null),
    secretOf: options.secretOf ?? (() => null),
    anonymous: options.anonymous ?? false,
  });

export const post = command("POST");
export const patch = command("PATCH");
export const del = command("DELETE");

/** The body of a command, sent as JSON: `post(path, Reader, json<{ values: … }>())`. */
export const json = <Body>() => ({ body: (body: Body) => JSON.stringify(body) });

/** The same row under another method and path, such as `POST superusers/revoke/{username}/`. */
export function respell<Same extends { readonly path: string }>(row: Same, spelling: string): Same {
  const [method, path = ""] = spelling.split(" ");
  return { ...row, method, path, fill: filler(path) };
}

const SPELLING = /^(?:GET|POST|PATCH|DELETE) (?:(?:\w|\{\w+\})(?:[\w.-]|\{\w+\})*(?:\/|$))+$/;

/** What is wrong with another spelling of a row; null when it can be used. */
export function spellingFault(
  row: { readonly method: string; readonly path: string },
  spelling: string,
): string | null {
  if (!SPELLING.test(spelling)) {
    return "expected a method and a path, such as POST superusers/revoke/{username}/";
  }
  // What writes must never be tried again as a read would be.
  if (spelling.startsWith("GET ") !== (row.method === "GET")) {
    return row.method === "GET"
      ? "expected GET, for it reads"
      : "expected POST, PATCH or DELETE, for it writes";
  }
  const holes: readonly string[] = row.path.match(HOLE) ?? [];
  const stranger = spelling.match(HOLE)?.find((hole) => !holes.includes(hole));
  return stranger ? `expected only the parameters ${holes.join(" ")}, got ${stranger}` : null;
}

const HOLE = /\{(\w+)\}/g;

function filler<Path extends string>(path: Path) {
  return (at: Params<Path>): string =>
    path.replace(HOLE, (_, hole: keyof Params<Path> & string) => encodeURIComponent(segment(hole, at[hole])));
}

/** Longest name that is taken into a path; the service's own names end at 150 characters. */
const LONGEST_SEGMENT = 200;
const OUTSIDE_A_SEGMENT = /[\s\p{C}/\\?#%]/u;

/**
 * Checks that a text can stand as one segment of a path and returns it. `encodeURIComponent` alone is no guard:
 * it leaves `..` as it is, which climbs out of `/api/v1/`.
 */
export function segment(name: string, value: string): string {
  const fault =
    value.length === 0 || value.length > LONGEST_SEGMENT
      ? `expected 1 to ${LONGEST_SEGMENT} characters, got ${value.length}`
      : value === "." || value === ".." || OUTSIDE_A_SEGMENT.test(value)
        ? `expected a name without blanks, control characters and / \\ ? # %, got ${JSON.stringify(value)}`
        : null;
  if (fault) throw new InputError(`${name}: ${fault}`);
  return value;
}
