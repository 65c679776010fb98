import { expect } from "vitest";
import { outcomeOf } from "./errors.ts";
import { startGateway } from "./gateway.ts";
import type { Row } from "./recorded-items.ts";
import { recordedReads } from "./recorded-server.ts";
import { type Line, lineOf, plain, startReplay } from "./replay.ts";

/*
 * Recorded exchanges of release 0.4.4, each with the operation that asks for it, or why there is none.
 */

export interface Asked {
  readonly document: string;
  /** What the recorded answer gives, and that of `behind`. */
  readonly told: (json: Row, behind: Row) => unknown;
  /** The exchange of the same file that is asked for as well. */
  readonly behind?: string;
  /** The place of the error when the server refuses, and what is there besides. By default it is a list. */
  readonly refused?: { readonly at: string; readonly data: unknown };
  /** Whether `told` gives what there is although the server refuses. */
  readonly isNoError?: boolean;
  /** Whether the caller's name is read first. */
  readonly isOfViewer?: boolean;
}

/** Why no field asks for it. */
export type RecordedRow = Asked | { readonly never: string };

export const never = (why: string): RecordedRow => ({ never: why });

const tokenIn = ({ headers }: Line) => headers["Authorization"]?.replace("token ", "") ?? null;

/** The caller's name, as release 0.2.0 told it, for the token of a line. */
export const viewerFor = ({ headers }: Line): Line => ({
  ...lineOf(recordedReads, "user me alice"),
  headers,
});

/** The body of a command; an empty one is none. */
const bodyOf = (text: string) => (text === "" || text === "{}" ? null : (JSON.parse(text) as unknown));
const recordedBody = (body: unknown) => bodyOf(JSON.stringify(body ?? {}));

const CODES: Readonly<Record<number, string>> = {
  400: "BAD_USER_INPUT",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  500: "UPSTREAM_ERROR",
};

const LIST = { at: "thing.list", data: { list: null } };

function wordsOf(json: unknown, status: number): unknown {
  if (Array.isArray(json)) return json.join(" ");
  const { detail } = Object(json ?? {}) as { readonly detail?: string };
  // The gateway says what was not found.
  if (detail === "Not found.") return expect.stringMatching(/^Not found: [-\w.]+\.$/);
  return detail ?? `The service answered ${status}.`;
}

/** What is told of what the server refused, in the words of the server unless it crashed. */
const refused = ({ method, status, json }: Line, { at, data } = LIST as NonNullable<Asked["refused"]>) => ({
  data: { thing: data },
  errors: [
    {
      at,
      code: CODES[status],
      message: wordsOf(json, status),
      upstream: { method, status },
    },
  ],
});

/** Asks for recorded exchanges, which are all that the service knows, and compares what was sent with them. */
export async function replay(lines: readonly Line[], document: string, profile: string) {
  const upstream = await startReplay(lines);
  const { ask } = await startGateway({
    upstream,
    token: lines[0] ? tokenIn(lines[0]) : null,
    env: { UPSTREAM_PROFILE: profile },
  });
  const outcome = outcomeOf(await ask<{ thing: unknown }, object>(document));
  const sent = upstream.seen().map(({ method, path, body }) => [method, ...plain(path), bodyOf(body)]);
  const recorded = lines.map(({ method, path, body }) => [method, ...plain(path), recordedBody(body)]);
  // Some go side by side.
  const inOrder = (requests: readonly unknown[][]) =>
    requests.toSorted((a, b) => a.join().localeCompare(b.join()));
  expect(inOrder(sent)).toEqual(inOrder(recorded));
  return outcome;
}

export const isAsked = (row: RecordedRow): row is Asked => "document" in row;

/** Asks for an exchange of a file: what the gateway gives, and what of that the recording tells. */
export async function answerTo(file: readonly Line[], name: string, row: Asked) {
  const { document, told, behind, isOfViewer = false, isNoError = false, refused: how } = row;
  const line = lineOf(file, name);
  const besides = behind === undefined ? [] : [lineOf(file, behind)];
  const lines: readonly Line[] = [...(isOfViewer ? [viewerFor(line)] : []), line, ...besides];
  // Rows without `behind` do not look at it.
  const records = [line, ...besides].map(({ json }) => json as Row);
  const [answer = {}, record = {}] = records;
  return {
    given: await replay(lines, document, "polyaxon-0.4"),
    recorded:
      line.status < 300 || isNoError
        ? { data: { thing: told(answer, record) }, errors: [] }
        : refused(line, how),
  };
}
