import dns from "node:dns";
import { readFileSync } from "node:fs";
import { deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { everyNth, tableIn } from "../support/cases.ts";
import { lookUp, lostHosts, MATRIX_OPERATIONS, type MatrixFault, observe } from "./fault-matrix.ts";
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
  respondWith,
  trickle,
} from "./faults.ts";
import { withDeadline } from "../support/long-timeout.ts";
import STATUSES from "./statuses.json" with { type: "json" };

const once = (call: number) => call === 1;

const PAGE = "<!DOCTYPE html><html><body>c4nary of /srv/tracking at db.internal</body></html>";

interface StatusFault {
  readonly status: number;
  readonly page?: boolean;
  readonly retryAfter?: string;
  readonly once?: boolean;
}

/** Responds with another status and a page or a detail. */
const answering = ({ status, page, retryAfter, once: isOnce }: StatusFault): MatrixFault => {
  const reported = page
    ? { text: PAGE, headers: { "content-type": "text/html; charset=utf-8" } }
    : {
        json: { detail: "c4nary/srv" },
        ...(retryAfter !== undefined && { headers: { "retry-after": retryAfter } }),
      };
  return at(respondWith({ status, ...reported }), isOnce ? once : undefined);
};

const bomb = bombOf(200);

const MEGABYTE = "[".padEnd(1_000_000, " ");

const at = (fault: Fault, isMeant?: (call: number) => boolean): MatrixFault => ({
  bring: ({ service, route }) => service.fail(route, fault, isMeant),
});

/** A list with a link to its next page. */
const nextIs = (link: (elsewhere: string) => string): MatrixFault => ({
  bring: ({ service, route, elsewhere }) =>
    service.fail(
      route,
      mangle((page) => ({ ...Object(page), next: link(elsewhere) })),
    ),
});

const encoded = (encoding: string, encode: (body: Buffer) => Buffer) =>
  at(garble(encode, { "content-encoding": encoding }));
const garbled = (text: string) => at(garble(() => text));

/** Functions that cause each fault of the page. */
const FAULTS: Readonly<Record<string, MatrixFault>> = {
  "connection refused": {
    isAll: true,
    bring: async ({ service }) => {
      await service.stop();
      return service.restart;
    },
  },
  "name not found": {
    isAll: true,
    bring: ({ service: { port } }) => {
      lostHosts.add(`db-${port}.internal`);
      return () => lostHosts.delete(`db-${port}.internal`);
    },
  },
  "accepts and never answers": { hasDeadline: true, ...at(hang) },
  "reset before headers": at(reset),
  "reset before headers, once": at(reset, once),
  "reset mid-body": at(resetMidBody),
  "reset mid-body, once": at(resetMidBody, once),
  "content-length too long, then hangs up": at(promiseTooMuch("hangs up")),
  "content-length too long, then silent": { hasDeadline: true, ...at(promiseTooMuch("is silent")) },
  "one byte at a time": {
    hasDeadline: true,
    bring: ({ service, route, deadlineMs }) => service.fail(route, trickle(deadlineMs / 8)),
  },
  "half of the JSON": at(garble((body) => body.subarray(0, -2))),
  "200 with nothing": garbled(""),
  "a byte order mark in front": at(garble((body) => `\uFEFF${body.toString()}`)),
  "latin-1": at(
    garble((body) => Buffer.from(body.toString().replace("{", '{"note": "pässword", '), "latin1")),
  ),
  "a string": garbled('"c4nary"'),
  "a list of nothing": garbled("[]"),
  "an object of nothing": garbled("{}"),
  "values of wrong types": garbled('{"id": "c4nary", "token": 7, "results": {"id": 1}}'),
  "`results` of other things": garbled('{"results": [7, null, "c4nary"]}'),
  "`next` on another host": nextIs((elsewhere) => `${elsewhere}/c4nary?offset=1&token=c4nary`),
  "`next` that is no link": nextIs(() => "http://[c4nary"),
  "`next` to itself": nextIs(() => "?limit=1"),
  "gzip, unasked": encoded("gzip", gzipSync),
  "deflate, unasked": encoded("deflate", deflateSync),
  "invalid gzip body": encoded("gzip", (body) => body),
  "an unknown encoding": encoded("martian", gzipSync),
  "zip bomb of 200 MB": {
    bring: async ({ service, route }) => {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      service.fail(route, respondWith({ text: await bomb, headers }));
    },
  },
  "endless body": at(flood({ chunk: MEGABYTE })),
  "64 MB of JSON": at(flood({ chunk: MEGABYTE, times: 64 })),
  "redirect to the same host": at(redirect(307, ({ url = "" }) => `${url}?c4nary`)),
  "redirect to another host": {
    bring: ({ service, route, elsewhere }) =>
      service.fail(
        route,
        redirect(308, ({ url = "" }) => elsewhere + url),
      ),
  },
  "redirect in a loop": at(redirect(301, ({ url = "" }) => url)),
  ...Object.fromEntries(
    Object.entries<StatusFault>(STATUSES).map(([name, fault]) => [name, answering(fault)]),
  ),
};

const [operations, ...rows] = tableIn(readFileSync(new URL("./matrix.md", import.meta.url), "utf8"));

test("the table lists exactly the faults and operations tested here", () => {
  expect(operations).toEqual(["fault", ...MATRIX_OPERATIONS]);
  expect(rows.map(([name]) => name).toSorted()).toEqual(Object.keys(FAULTS).toSorted());
});

describe("each fault has the tabulated effect, without leaks or lasting damage:", () => {
  test.each(rows.map(([name = "", ...cells], index) => ({ name, cells, index })))(
    "$name",
    async ({ name, cells, index }) => {
      // No pause between tries.
      vi.spyOn(Math, "random").mockReturnValue(0);
      // The gateway looks up all addresses, so the result is a list.
      vi.spyOn(dns, "lookup").mockImplementation(lookUp as never);
      onTestFinished(() => void vi.restoreAllMocks());
      const { [name]: fault } = FAULTS;
      if (!fault) throw new TypeError(`nothing brings about ${name}`);
      const reported = MATRIX_OPERATIONS.map(
        (operation, column) => [operation, cells[column] ?? ""] as const,
      );
      const all = reported.filter(([, cell]) => cell !== "–");
      const meant = everyNth(all, Math.min(3, all.length), index);
      await withDeadline(async (deadlineMs) => {
        const found = meant.map(
          async ([operation]) => [operation, await observe(fault, operation, deadlineMs)] as const,
        );
        expect(await Promise.all(found)).toEqual(meant);
      });
    },
  );
});
