import dns from "node:dns";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { everyNth } from "../support/cases.ts";
import {
  failAt,
  lookUp,
  lostHosts,
  MATRIX_OPERATIONS,
  type MatrixRow,
  observe,
} from "../support/fault-matrix.ts";
import type { Fault } from "../support/fault-server.ts";
import {
  bombOf,
  flood,
  garble,
  hang,
  mangle,
  promiseTooMuch,
  redirect,
  reset,
  resetMidBody,
  say,
  trickle,
} from "../support/faults.ts";
import { withDeadline } from "../support/patience.ts";

const once = (call: number) => call === 1;

/** Reads fare alike; so do a mutation and a login. */
const cells = (read: string, command: string, file: string, others: Partial<MatrixRow["cells"]> = {}) => ({
  "look-up": read,
  list: read,
  "nested list": read,
  mutation: command,
  login: command,
  download: file,
  ...others,
});

const PAGE = "<!DOCTYPE html><html><body>c4nary of /srv/tracking at db.internal</body></html>";

const html = (status: number): Fault =>
  say({ status, text: PAGE, headers: { "content-type": "text/html; charset=utf-8" } });

const detail = (status: number, headers: Record<string, string> = {}): Fault =>
  say({ status, json: { detail: "c4nary/srv" }, headers });

const bomb = bombOf(200);

const MEGABYTE = "[".padEnd(1_000_000, " ");

const NEVER_THERE = cells("UPSTREAM_UNAVAILABLE ×0", "UPSTREAM_UNAVAILABLE ×0", "UPSTREAM_UNAVAILABLE ×0");

const OUT = cells("UPSTREAM_UNAVAILABLE ×3", "UPSTREAM_UNAVAILABLE ×1 ?", "UPSTREAM_UNAVAILABLE ×1");

const LATE = cells("UPSTREAM_TIMEOUT ×1", "UPSTREAM_TIMEOUT ×1 ?", "ok ×1");

/** An answer that makes no sense; a download is bytes, whatever they are. */
const BAD = cells("UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1 ?", "ok ×1");

const OK = cells("ok ×1", "ok ×1", "ok ×1");

const REDIRECTED = cells("UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1");

const refused = (code: string, login = code) =>
  cells(`${code} ×1`, `${code} ×1`, `${code} ×1`, { login: `${login} ×1` });

const onlyList = (cell: string): MatrixRow["cells"] => ({
  "look-up": null,
  list: cell,
  "nested list": cell,
  mutation: null,
  login: null,
  download: null,
});

/** A list with a link to its next page. */
const nextIs =
  (link: (elsewhere: string) => string): MatrixRow["bring"] =>
  ({ service, route, elsewhere }) =>
    service.fail(
      route,
      mangle((page) => ({ ...Object(page), next: link(elsewhere) })),
    );

const row = (
  name: string,
  bring: MatrixRow["bring"],
  cellsOf: MatrixRow["cells"],
  more: Partial<MatrixRow> = {},
): MatrixRow => ({ name, bring, cells: cellsOf, ...more });

const LATER = { "retry-after": "3600" };
const SOON = { "retry-after": "1" };
const PAST = { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" };
const NONSENSE = { "retry-after": "soon" };
const ONCE = cells("ok ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1");
const OK_AGAIN = { "look-up": "ok ×2", list: "ok ×2", "nested list": "ok ×2" };
const BROKEN = { download: "breaks off ×1" };
const STREAMS = { download: "streams ×1" };
const encoded = (encoding: string, encode: (body: Buffer) => Buffer) =>
  failAt(garble(encode, { "content-encoding": encoding }));
const garbled = (text: string) => failAt(garble(() => text));

const ROWS: readonly MatrixRow[] = [
  row(
    "connection refused",
    async ({ service }) => {
      await service.stop();
      return service.restart;
    },
    NEVER_THERE,
    { isAll: true },
  ),
  row(
    "name not found",
    ({ service: { port } }) => {
      lostHosts.add(`db-${port}.internal`);
      return () => lostHosts.delete(`db-${port}.internal`);
    },
    NEVER_THERE,
    { isAll: true },
  ),
  row(
    "accepts and never answers",
    failAt(hang),
    { ...LATE, download: "UPSTREAM_TIMEOUT ×1" },
    { hasDeadline: true },
  ),
  row("reset before headers", failAt(reset), OUT),
  row("reset before headers, once", failAt(reset, once), { ...OUT, ...OK_AGAIN }),
  row("reset mid-body", failAt(resetMidBody), { ...OUT, ...BROKEN }),
  row("reset mid-body, once", failAt(resetMidBody, once), { ...OUT, ...OK_AGAIN, ...BROKEN }),
  row("content-length too long, then hangs up", failAt(promiseTooMuch("hangs up")), { ...OUT, ...BROKEN }),
  row(
    "content-length too long, then silent",
    failAt(promiseTooMuch("is silent")),
    { ...LATE, ...BROKEN },
    { hasDeadline: true },
  ),
  row(
    "one byte at a time",
    ({ service, route, deadlineMs }) => service.fail(route, trickle(deadlineMs / 8)),
    LATE,
    { hasDeadline: true },
  ),
  row("500", failAt(html(500)), cells("UPSTREAM_ERROR ×1", "UPSTREAM_ERROR ×1 ?", "UPSTREAM_ERROR ×1")),
  ...[502, 503, 504].map((status) => {
    const command = status === 503 ? "UPSTREAM_UNAVAILABLE ×1" : "UPSTREAM_UNAVAILABLE ×1 ?";
    const all = cells("ok ×2", command, "UPSTREAM_UNAVAILABLE ×1");
    return row(`${status} once, then 200`, failAt(html(status), once), all);
  }),
  row("503 always", failAt(html(503)), {
    ...OUT,
    mutation: "UPSTREAM_UNAVAILABLE ×1",
    login: "UPSTREAM_UNAVAILABLE ×1",
  }),
  row("503 with Retry-After: 1, once", failAt(detail(503, SOON), once), {
    ...refused("UPSTREAM_UNAVAILABLE"),
    ...OK_AGAIN,
  }),
  row("503 with Retry-After: 3600", failAt(detail(503, LATER)), refused("UPSTREAM_UNAVAILABLE")),
  row("429 with Retry-After: 1, once", failAt(detail(429, SOON), once), ONCE),
  row("429 with Retry-After: 3600", failAt(detail(429, LATER)), refused("RATE_LIMITED")),
  row(
    "429 with Retry-After: a date that is over",
    failAt(detail(429, PAST)),
    cells("RATE_LIMITED ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1"),
  ),
  row("429 with Retry-After: nonsense", failAt(detail(429, NONSENSE)), refused("RATE_LIMITED")),
  row("400", failAt(detail(400)), refused("BAD_USER_INPUT", "BAD_CREDENTIALS")),
  row("401", failAt(detail(401)), refused("UNAUTHENTICATED", "BAD_CREDENTIALS")),
  row("403", failAt(detail(403)), refused("FORBIDDEN", "BAD_CREDENTIALS")),
  row("404", failAt(detail(404)), refused("NOT_FOUND")),
  row("404 with a page", failAt(html(404)), refused("UPSTREAM_UNSUPPORTED")),
  row("409", failAt(detail(409)), refused("CONFLICT")),
  row("422", failAt(detail(422)), refused("BAD_USER_INPUT")),
  row("418", failAt(detail(418)), refused("UPSTREAM_ERROR")),
  row("half of the JSON", failAt(garble((body) => body.subarray(0, -2))), BAD),
  row("200 with nothing", garbled(""), BAD),
  row("a byte order mark in front", failAt(garble((body) => `\uFEFF${body.toString()}`)), OK),
  row(
    "latin-1",
    failAt(garble((body) => Buffer.from(body.toString().replace("{", '{"note": "pässword", '), "latin1"))),
    OK,
  ),
  row("a page with 200", failAt(html(200)), BAD),
  row("a page with 502", failAt(html(502)), OUT),
  row("a string", garbled('"c4nary"'), BAD),
  row("a list of nothing", garbled("[]"), BAD),
  row("an object of nothing", garbled("{}"), BAD),
  row("values of wrong types", garbled('{"id": "c4nary", "token": 7, "results": {"id": 1}}'), BAD),
  row(
    "`results` of other things",
    garbled('{"results": [7, null, "c4nary"]}'),
    onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  ),
  row(
    "`next` on another host",
    nextIs((elsewhere) => `${elsewhere}/c4nary?offset=1&token=c4nary`),
    onlyList("UPSTREAM_BAD_RESPONSE ×2"),
  ),
  row(
    "`next` that is no link",
    nextIs(() => "http://[c4nary"),
    onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  ),
  row(
    "`next` to itself",
    nextIs(() => "?limit=1"),
    onlyList("UPSTREAM_BAD_RESPONSE ×2"),
  ),
  row("gzip, unasked", encoded("gzip", gzipSync), OK),
  row("br, unasked", encoded("br", brotliCompressSync), OK),
  row("deflate, unasked", encoded("deflate", deflateSync), OK),
  row(
    "gzip that is none",
    encoded("gzip", (body) => body),
    { ...BAD, ...BROKEN },
  ),
  row("br that is gzip", encoded("br", gzipSync), { ...BAD, ...BROKEN }),
  row(
    "zip bomb of 200 MB",
    async ({ service, route }) => {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      service.fail(route, say({ text: await bomb, headers }));
    },
    { ...BAD, ...STREAMS },
  ),
  row("endless body", failAt(flood({ chunk: MEGABYTE })), { ...BAD, ...STREAMS }),
  row("64 MB of JSON", failAt(flood({ chunk: MEGABYTE, times: 64 })), { ...BAD, ...STREAMS }),
  row("redirect to the same host", failAt(redirect(307, ({ url = "" }) => `${url}?c4nary`)), REDIRECTED),
  row(
    "redirect to another host",
    ({ service, route, elsewhere }) =>
      service.fail(
        route,
        redirect(308, ({ url = "" }) => elsewhere + url),
      ),
    REDIRECTED,
  ),
  row("redirect in a loop", failAt(redirect(301, ({ url = "" }) => url)), REDIRECTED),
];

describe("each fault ends each operation as the table says: the rest of the data is there, nothing leaks, the next operation is fine", () => {
  test.each(ROWS.map((each, index) => ({ ...each, index })))("$name", async ({ index, ...fault }) => {
    // No pause between tries.
    vi.spyOn(Math, "random").mockReturnValue(0);
    // The gateway asks for all addresses: that is the form of the answer here.
    vi.spyOn(dns, "lookup").mockImplementation(lookUp as never);
    onTestFinished(() => void vi.restoreAllMocks());
    const all = MATRIX_OPERATIONS.filter((operation) => fault.cells[operation] !== null);
    const meant = everyNth(all, Math.min(3, all.length), index);
    await withDeadline(async (deadlineMs) => {
      const found = meant.map(async (each) => [each, await observe(fault, each, deadlineMs)] as const);
      expect({ ...fault.cells, ...Object.fromEntries(await Promise.all(found)) }).toEqual(fault.cells);
    });
  });
});

const LEGEND = `# Fault matrix

What an operation ends in when the service fails in one of its requests. Generated by \`test/faults/matrix.test.ts\`,
which also holds that the rest of the data is there, that no host, port, path, page, stack or token is told or logged,
and that the next operation is fine.

\`CODE ×n\`: the code, and how many requests the service saw for it (of ours: a read is tried twice again where that can
help). \`?\`: the error says \`outcome: "unknown"\`, the command may have happened. \`ok\`: the whole answer.
\`streams\`: passed on as it comes, at any length. \`breaks off\`: so does the caller's download. –: makes no sense.
`;

/** The table in Markdown, its columns aligned. */
function tableOf(rows: readonly MatrixRow[]): string {
  const lines = [
    ["fault", ...MATRIX_OPERATIONS],
    ...rows.map((each) => [each.name, ...MATRIX_OPERATIONS.map((operation) => each.cells[operation] ?? "–")]),
  ];
  const widths = ["", ...MATRIX_OPERATIONS].map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const [head = "", ...body] = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [head, rule, ...body, ""].join("\n");
}

test("the page of the documentation is this table", async () => {
  await expect(`${LEGEND}\n${tableOf(ROWS)}`).toMatchFileSnapshot("../../docs/fault-matrix.md");
});
