import { gzipSync } from "node:zlib";

import { type DemoRequest, type DemoResponse, json } from "./messages.ts";

const defaultPageLimit = 20;

/** The default limit of metric lists: in effect all records. */
export const metricLimit = 300_000;

/** Responds with one page of items in the service's envelope. Renders only the items of the page. */
export function page<Item>(
  request: DemoRequest,
  items: readonly Item[],
  render: (item: Item) => unknown,
  defaultLimit = defaultPageLimit,
): DemoResponse {
  const limit = wholeNumber(request.query.get("limit"), 1) ?? defaultLimit;
  const offset = wholeNumber(request.query.get("offset"), 0) ?? 0;
  const link = (start: number) => `${request.address}?${pageQuery(request.query, limit, start)}`;
  return json(200, {
    count: items.length,
    next: offset + limit < items.length ? link(offset + limit) : null,
    previous: offset > 0 ? link(offset - limit) : null,
    results: items.slice(offset, offset + limit).map(render),
  });
}

/** Null for an invalid number, which real servers ignore. */
function wholeNumber(text: string | null, least: number): number | null {
  const value = Number(text);
  return text && /^\d+$/.test(text) && value >= least ? value : null;
}

/** The query of another page: keys in alphabetical order, no offset for the first page. */
function pageQuery(query: URLSearchParams, limit: number, offset: number): URLSearchParams {
  const linked = new URLSearchParams(query);
  linked.set("limit", String(limit));
  if (offset > 0) linked.set("offset", String(offset));
  else linked.delete("offset");
  linked.sort();
  return linked;
}

/** Compresses a response whatever the caller accepts, as release 0.4.4 does with long lists. */
export function gzipped({ status, headers, body }: DemoResponse): DemoResponse {
  return { status, headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) };
}
