import { gzipSync } from "node:zlib";

import { type Answer, type Exchange, json } from "./exchange.ts";

const ordinaryLimit = 20;

/** What a server takes for the limit of metric lists when none is asked for: in effect all. */
export const metricLimit = 300_000;

/** Answers one page of the items in the service's envelope. Only the items of the page are rendered. */
export function page<Item>(
  exchange: Exchange,
  items: readonly Item[],
  render: (item: Item) => unknown,
  defaultLimit = ordinaryLimit,
): Answer {
  const limit = wholeNumber(exchange.query.get("limit"), 1) ?? defaultLimit;
  const offset = wholeNumber(exchange.query.get("offset"), 0) ?? 0;
  const link = (start: number) => `${exchange.address}?${turn(exchange.query, limit, start)}`;
  return json(200, {
    count: items.length,
    next: offset + limit < items.length ? link(offset + limit) : null,
    previous: offset > 0 ? link(offset - limit) : null,
    results: items.slice(offset, offset + limit).map(render),
  });
}

/** Null for nonsense, which real servers treat as if nothing had been sent. */
function wholeNumber(text: string | null, least: number): number | null {
  const number = Number(text);
  return text && /^\d+$/.test(text) && number >= least ? number : null;
}

/** The query of another page: keys in alphabetical order, no offset for the first page. */
function turn(query: URLSearchParams, limit: number, offset: number): URLSearchParams {
  const turned = new URLSearchParams(query);
  turned.set("limit", String(limit));
  if (offset > 0) turned.set("offset", String(offset));
  else turned.delete("offset");
  turned.sort();
  return turned;
}

/** Compresses an answer whether or not the caller asked for it, as release 0.4.4 does with long lists. */
export function gzipped({ status, headers, body }: Answer): Answer {
  if (typeof body !== "string") return { status, headers, body };
  return { status, headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) };
}
