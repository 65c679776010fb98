import { expect } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { dataOf, type Row } from "./recorded-data.ts";
import { recordedReads } from "./recorded-server.ts";
import { type Line, lineOf, plain, startReplay } from "../support/replay.ts";
import rows from "./rows.json" with { type: "json" };

/** The operation that causes a recorded exchange. */
export interface Asked {
  readonly query: string;
  /**
   * Another exchange of the same file that the operation causes. If the response of the first exchange is empty, this exchange has the
   * expected data.
   */
  readonly behind?: string;
  /** The expected data, if it is not the recorded response field by field. */
  readonly reported?: unknown;
  /** The path of the error if the server rejects the request, and the other data. By default the path is that of a list or a mutation. */
  readonly refused?: { readonly at: string; readonly data: unknown };
  readonly profile?: string;
}

const { fragments, ...files } = rows;

/** The operation for each exchange of some recordings, or the reason why no field causes it. */
// Safe: the file has only these rows.
export const RECORDED_ROWS = files as unknown as Readonly<
  Record<string, Readonly<Record<string, Asked | string>>>
>;

const withFragments = (query: string): string =>
  [
    query,
    ...Object.entries(fragments).flatMap(([name, text]) => (query.includes(`...${name}`) ? [text] : [])),
  ].join(" ");

const tokenIn = ({ headers }: Line) => headers["Authorization"]?.replace("token ", "") ?? null;

/** The body of a command. An empty body counts as none. */
const bodyOf = (body: unknown): unknown => {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  return text === "" || text === "{}" ? null : JSON.parse(text);
};

const CODES: Readonly<Record<number, string>> = {
  400: "BAD_USER_INPUT",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "UPSTREAM_UNSUPPORTED",
  500: "UPSTREAM_ERROR",
};

const NOT_FOUND: unknown = expect.stringMatching(/^Not found: [-\w./ ]+\.$/);
const NOT_OFFERED: unknown = expect.stringMatching(/^This server does not offer \w+ \S+\.$/);
const FAILED: unknown = expect.stringMatching(/^The server failed at \w+ \S+\.$/);

/** The error for a rejected request: with the server's message, unless it crashed or did not find the record. */
function refusalOf({ method, status, json }: Line, at: string) {
  const { detail } = Object(json ?? {}) as { readonly detail?: string };
  const words = Array.isArray(json) ? json.join(" ") : (detail ?? `The service answered ${status}.`);
  const isCrash = status === 405 && !json;
  const refused = status === 405 ? NOT_OFFERED : detail === "Not found." ? NOT_FOUND : words;
  const message = isCrash ? FAILED : refused;
  const code = detail === "Invalid token." ? "UNAUTHENTICATED" : CODES[isCrash ? 500 : status];
  return { at, code, message, upstream: { method, status } };
}

/** Runs the operation against a service that has only the recorded exchanges, and compares the sent requests with them. */
async function replay(lines: readonly Line[], document: string, profile: string) {
  const upstream = await startReplay(lines);
  const { ask } = await startGateway({
    upstream,
    token: lines[0] ? tokenIn(lines[0]) : null,
    env: { UPSTREAM_PROFILE: profile, MAX_PAGE_SIZE: "500" },
  });
  const reported = JSON.stringify(outcomeOf(await ask<{ thing: unknown }, object>(document)));
  // Before Node.js 21, integers that a number cannot represent are strings.
  const outcome = JSON.parse(reported.replaceAll(/"(-?\d{16,})"/g, "$1")) as ReturnType<typeof outcomeOf>;
  const sent = upstream.seen().map(({ method, path, body }) => [method, ...plain(path), bodyOf(body)]);
  const recorded = lines.map(({ method, path, body }) => [method, ...plain(path), bodyOf(body)]);
  // Some requests are parallel.
  const inOrder = (requests: readonly unknown[][]) =>
    requests.toSorted((a, b) => a.join().localeCompare(b.join()));
  expect(inOrder(sent)).toEqual(inOrder(recorded));
  return outcome;
}

/** Runs the operation of an exchange. Returns the result of the gateway, and the expected result according to the recording. */
export async function answerTo(file: readonly Line[], name: string, row: Asked, profile: string) {
  const { query, behind } = row;
  const list = { at: "thing.list", data: { list: null } };
  const { refused = query.startsWith("mutation") ? { at: "thing", data: null } : list } = row;
  const line = lineOf(file, name);
  const besides = behind === undefined ? [] : [lineOf(file, behind)];
  // The caller's name is read first, in the format of release 0.2.0.
  const viewer = { ...lineOf(recordedReads, "user me alice"), headers: line.headers };
  const document = withFragments(query);
  const lines = [...(query.includes("viewer") ? [viewer] : []), line, ...besides];
  const given = await replay(lines, document, row.profile ?? profile);
  const isReported = line.status < 300 || row.reported !== undefined;
  if (!isReported)
    return { given, recorded: { data: { thing: refused.data }, errors: [refusalOf(line, refused.at)] } };
  // Safe: the recorded responses are objects.
  const answer = (line.json ?? besides[0]?.json) as Row;
  const data = row.reported === undefined ? dataOf(document, answer) : { thing: row.reported };
  return { given, recorded: { data, errors: [] } };
}
