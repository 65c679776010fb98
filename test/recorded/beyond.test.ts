import { describe, expect, test } from "vitest";
import { type Asked, BEYOND_ROWS, type BeyondRow } from "../support/beyond-rows.ts";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { ITEMS, type Row } from "../support/recorded-items.ts";
import { recordedAs } from "../support/recorded-server.ts";
import { type Line, lineOf, plain, readRecording, startReplay } from "../support/replay.ts";

const beyond = readRecording("0.4.4-beyond");
const reads = readRecording("0.2.0-reads");
const writes = readRecording("0.2.0-writes");

const isAsked = (row: BeyondRow): row is Asked => "document" in row;

const casesOf = (key: "never" | "notYet") => Object.values(BEYOND_ROWS).filter((row) => key in row).length;

const tokenIn = ({ headers }: Line) => headers["Authorization"]?.replace("token ", "") ?? null;

/** The caller's name, as release 0.2.0 told it, for the token of a line. */
const viewerFor = ({ headers }: Line): Line => ({ ...lineOf(reads, "user me alice"), headers });

/** The body of a command; an empty one is none. */
const bodyOf = (text: string) => (text === "" || text === "{}" ? null : (JSON.parse(text) as unknown));
const recordedBody = (body: unknown) => bodyOf(JSON.stringify(body ?? {}));

const CODES: Readonly<Record<number, string>> = { 400: "BAD_USER_INPUT", 500: "UPSTREAM_ERROR" };

/** What is told of a list that the server refused with a list of sentences, or crashed at. */
const refused = ({ status, json }: Line) => ({
  data: { thing: { list: null } },
  errors: [
    {
      at: "thing.list",
      code: CODES[status],
      message: Array.isArray(json) ? json.join(" ") : `The service answered ${status}.`,
      upstream: { method: "GET", status },
    },
  ],
});

/** Asks for recorded exchanges, which are all that the service knows, and compares what was sent with them. */
async function replay(lines: readonly [Line, ...Line[]], document: string, profile: string) {
  const upstream = await startReplay(lines);
  const { ask } = await startGateway({
    upstream,
    token: tokenIn(lines[0]),
    env: { UPSTREAM_PROFILE: profile },
  });
  const outcome = outcomeOf(await ask<{ thing: unknown }, object>(document));
  expect(upstream.seen().map(({ method, path, body }) => [method, ...plain(path), bodyOf(body)])).toEqual(
    lines.map(({ method, path, body }) => [method, ...plain(path), recordedBody(body)]),
  );
  return outcome;
}

describe("release 0.4.4 beyond the document", () => {
  test("each of its 104 recordings is asked for, or has its reason", () => {
    expect(Object.keys(BEYOND_ROWS)).toEqual(beyond.map((line) => line.case));
    expect(beyond).toHaveLength(104);
    expect({ never: casesOf("never"), notYet: casesOf("notYet") }).toEqual({ never: 11, notYet: 19 });
  });

  const asked = Object.entries(BEYOND_ROWS).flatMap(([name, row]) =>
    isAsked(row) ? [[name, row] as const] : [],
  );

  test.each(asked)("%s", async (name, { document, told, behind, isOfViewer = false }) => {
    const line = lineOf(beyond, name);
    const look = behind === undefined ? [] : [lineOf(beyond, behind)];
    const lines = [...(isOfViewer ? [viewerFor(line)] : []), line, ...look];
    // A command without an answer is told by the record behind it.
    const answer = (look[0] ?? line).json as Row;
    expect(await replay(lines as [Line, ...Line[]], document, "polyaxon-0.4")).toMatchObject(
      line.status < 300 ? { data: { thing: told(answer) }, errors: [] } : refused(line),
    );
  });
});

describe("release 0.2.0", () => {
  test.each([
    ["experiment bookmarks list", "bookmarkedExperiments", "experiments"],
    ["job bookmarks list", "bookmarkedJobs", "jobs"],
    ["build bookmarks list", "bookmarkedBuildJobs", "builds"],
    ["group bookmarks list", "bookmarkedGroups", "groups"],
  ] as const)("has bookmarks as well: %s", async (name, field, item) => {
    const line = lineOf(writes, name);
    const { results } = recordedAs(writes, name) as { results: readonly { content_object: Row }[] };
    const document = `{ thing: viewer { ${field} { nodes { ${ITEMS[item].fields} } } } }`;
    expect(await replay([viewerFor(line), line], document, "polyaxon-0.2")).toEqual({
      data: {
        thing: {
          [field]: {
            nodes: results.map((row) => ITEMS[item].node({ ...row.content_object, bookmarked: true })),
          },
        },
      },
      errors: [],
    });
  });
});
