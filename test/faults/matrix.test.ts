import dns from "node:dns";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { everyNth } from "../support/cases.ts";
import {
  failAt,
  lookUp,
  lostHosts,
  MATRIX_OPERATIONS,
  type MatrixOperation,
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

const ROWS: readonly MatrixRow[] = [
  {
    name: "connection refused",
    bring: async ({ service }) => {
      await service.stop();
      return service.restart;
    },
    isAll: true,
    cells: NEVER_THERE,
  },
  {
    name: "name not found",
    bring: ({ service: { port } }) => {
      lostHosts.add(`db-${port}.internal`);
      return () => lostHosts.delete(`db-${port}.internal`);
    },
    isAll: true,
    cells: NEVER_THERE,
  },
  {
    name: "accepts and never answers",
    bring: failAt(hang),
    hasDeadline: true,
    cells: { ...LATE, download: "UPSTREAM_TIMEOUT ×1" },
  },
  { name: "reset before headers", bring: failAt(reset), cells: OUT },
  {
    name: "reset before headers, once",
    bring: failAt(reset, once),
    cells: { ...OUT, "look-up": "ok ×2", list: "ok ×2", "nested list": "ok ×2" },
  },
  { name: "reset mid-body", bring: failAt(resetMidBody), cells: { ...OUT, download: "breaks off ×1" } },
  {
    name: "content-length too long, then hangs up",
    bring: failAt(promiseTooMuch("hangs up")),
    cells: { ...OUT, download: "breaks off ×1" },
  },
  {
    name: "content-length too long, then silent",
    bring: failAt(promiseTooMuch("is silent")),
    hasDeadline: true,
    cells: { ...LATE, download: "breaks off ×1" },
  },
  {
    name: "one byte at a time",
    bring: ({ service, route, deadlineMs }) => service.fail(route, trickle(deadlineMs / 8)),
    hasDeadline: true,
    cells: LATE,
  },
  {
    name: "500",
    bring: failAt(html(500)),
    cells: cells("UPSTREAM_ERROR ×1", "UPSTREAM_ERROR ×1 ?", "UPSTREAM_ERROR ×1"),
  },
  ...[502, 503, 504].map((status): MatrixRow => {
    const command = status === 503 ? "UPSTREAM_UNAVAILABLE ×1" : "UPSTREAM_UNAVAILABLE ×1 ?";
    return {
      name: `${status} once, then 200`,
      bring: failAt(html(status), once),
      cells: cells("ok ×2", command, "UPSTREAM_UNAVAILABLE ×1"),
    };
  }),
  {
    name: "503 always",
    bring: failAt(html(503)),
    cells: cells("UPSTREAM_UNAVAILABLE ×3", "UPSTREAM_UNAVAILABLE ×1", "UPSTREAM_UNAVAILABLE ×1"),
  },
  {
    name: "503 with Retry-After: 3600",
    bring: failAt(detail(503, { "retry-after": "3600" })),
    cells: refused("UPSTREAM_UNAVAILABLE"),
  },
  {
    name: "429 with Retry-After: 1, once",
    bring: failAt(detail(429, { "retry-after": "1" }), once),
    cells: cells("ok ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1"),
  },
  {
    name: "429 with Retry-After: 3600",
    bring: failAt(detail(429, { "retry-after": "3600" })),
    cells: refused("RATE_LIMITED"),
  },
  {
    name: "429 with Retry-After: a date that is over",
    bring: failAt(detail(429, { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })),
    cells: cells("RATE_LIMITED ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1"),
  },
  {
    name: "429 with Retry-After: nonsense",
    bring: failAt(detail(429, { "retry-after": "soon" })),
    cells: refused("RATE_LIMITED"),
  },
  { name: "400", bring: failAt(detail(400)), cells: refused("BAD_USER_INPUT", "BAD_CREDENTIALS") },
  { name: "401", bring: failAt(detail(401)), cells: refused("UNAUTHENTICATED", "BAD_CREDENTIALS") },
  { name: "403", bring: failAt(detail(403)), cells: refused("FORBIDDEN", "BAD_CREDENTIALS") },
  { name: "404", bring: failAt(detail(404)), cells: refused("NOT_FOUND") },
  { name: "404 with a page", bring: failAt(html(404)), cells: refused("UPSTREAM_UNSUPPORTED") },
  { name: "409", bring: failAt(detail(409)), cells: refused("CONFLICT") },
  { name: "422", bring: failAt(detail(422)), cells: refused("BAD_USER_INPUT") },
  { name: "418", bring: failAt(detail(418)), cells: refused("UPSTREAM_ERROR") },
  { name: "half of the JSON", bring: failAt(garble((body) => body.subarray(0, -2))), cells: BAD },
  { name: "200 with nothing", bring: failAt(garble(() => "")), cells: BAD },
  {
    name: "a byte order mark in front",
    bring: failAt(garble((body) => `\uFEFF${body.toString()}`)),
    cells: OK,
  },
  {
    name: "latin-1",
    bring: failAt(
      garble((body) => Buffer.from(body.toString().replace("{", '{"note": "pässword", '), "latin1")),
    ),
    cells: OK,
  },
  { name: "a page with 200", bring: failAt(html(200)), cells: BAD },
  { name: "a page with 502", bring: failAt(html(502)), cells: OUT },
  { name: "a string", bring: failAt(garble(() => '"c4nary"')), cells: BAD },
  { name: "a list of nothing", bring: failAt(garble(() => "[]")), cells: BAD },
  { name: "an object of nothing", bring: failAt(garble(() => "{}")), cells: BAD },
  {
    name: "values of wrong types",
    bring: failAt(garble(() => '{"id": "c4nary", "token": 7, "results": {"id": 1}}')),
    cells: BAD,
  },
  {
    name: "`results` of other things",
    bring: failAt(garble(() => '{"results": [7, null, "c4nary"]}')),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  },
  {
    name: "`next` on another host",
    bring: nextIs((elsewhere) => `${elsewhere}/c4nary?offset=1&token=c4nary`),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×2"),
  },
  {
    name: "`next` that is no link",
    bring: nextIs(() => "http://[c4nary"),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  },
  { name: "`next` to itself", bring: nextIs(() => "?limit=1"), cells: onlyList("UPSTREAM_BAD_RESPONSE ×2") },
  { name: "gzip, unasked", bring: failAt(garble(gzipSync, { "content-encoding": "gzip" })), cells: OK },
  { name: "br, unasked", bring: failAt(garble(brotliCompressSync, { "content-encoding": "br" })), cells: OK },
  {
    name: "deflate, unasked",
    bring: failAt(garble(deflateSync, { "content-encoding": "deflate" })),
    cells: OK,
  },
  {
    name: "gzip that is none",
    bring: failAt(garble((body) => body, { "content-encoding": "gzip" })),
    cells: { ...BAD, download: "breaks off ×1" },
  },
  {
    name: "br that is gzip",
    bring: failAt(garble(gzipSync, { "content-encoding": "br" })),
    cells: { ...BAD, download: "breaks off ×1" },
  },
  {
    name: "zip bomb of 200 MB",
    bring: async ({ service, route }) => {
      const text = await bomb;
      service.fail(
        route,
        say({ text, headers: { "content-type": "application/json", "content-encoding": "gzip" } }),
      );
    },
    cells: { ...BAD, download: "streams ×1" },
  },
  {
    name: "endless body",
    bring: failAt(flood({ chunk: MEGABYTE })),
    cells: { ...BAD, download: "streams ×1" },
  },
  {
    name: "64 MB of JSON",
    bring: failAt(flood({ chunk: MEGABYTE, times: 64 })),
    cells: { ...BAD, download: "streams ×1" },
  },
  {
    name: "redirect to the same host",
    bring: failAt(redirect(307, ({ url = "" }) => `${url}?c4nary`)),
    cells: REDIRECTED,
  },
  {
    name: "redirect to another host",
    bring: ({ service, route, elsewhere }) =>
      service.fail(
        route,
        redirect(308, ({ url = "" }) => elsewhere + url),
      ),
    cells: REDIRECTED,
  },
  { name: "redirect in a loop", bring: failAt(redirect(301, ({ url = "" }) => url)), cells: REDIRECTED },
];

const held = new Map<string, Partial<Record<MatrixOperation, string>>>();

describe("each fault ends each operation as the table says: the rest of the data is there, nothing leaks, the next operation is fine", () => {
  test.each(ROWS.map((row, index) => ({ ...row, index })))("$name", async ({ index, ...row }) => {
    // No pause between tries.
    vi.spyOn(Math, "random").mockReturnValue(0);
    // The gateway asks for all addresses: that is the form of the answer here.
    vi.spyOn(dns, "lookup").mockImplementation(lookUp as never);
    onTestFinished(() => void vi.restoreAllMocks());
    const all = MATRIX_OPERATIONS.filter((operation) => row.cells[operation] !== null);
    const meant = everyNth(all, Math.min(3, all.length), index);
    await withDeadline(async (deadlineMs) => {
      const cellsOf = meant.map(async (each) => [each, await observe(row, each, deadlineMs)] as const);
      const found = Object.fromEntries(await Promise.all(cellsOf));
      held.set(row.name, found);
      expect({ ...row.cells, ...found }).toEqual(row.cells);
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
function tableOf(rows: readonly Pick<MatrixRow, "name" | "cells">[]): string {
  const lines = [
    ["fault", ...MATRIX_OPERATIONS],
    ...rows.map(({ name, cells: row }) => [
      name,
      ...MATRIX_OPERATIONS.map((operation) => row[operation] ?? "–"),
    ]),
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

/** What this run saw, each cell held against what it must be. */
afterAll(() => {
  const seen = ROWS.filter(({ name }) => held.has(name)).map(({ name, cells: meant }) => {
    const row = MATRIX_OPERATIONS.map((operation) => {
      const cell = held.get(name)?.[operation];
      return [operation, cell === undefined ? null : `${cell === meant[operation] ? "✓" : "✗"} ${cell}`];
    });
    return { name, cells: Object.fromEntries(row) as MatrixRow["cells"] };
  });
  if (seen.length > 0) process.stdout.write(`\n${tableOf(seen)}\n`);
});
