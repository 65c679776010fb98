import { build, experiment, group } from "./records.ts";

/** Number of experiments in the project's list. Only the first 60 have records of their own. */
const LISTED = 6_000;

const MAKE: Readonly<Record<string, (id: number) => object>> = {
  experiments: experiment,
  builds: build,
  groups: group,
};

/**
 * Returns a list of the project in the format of Polyaxon 0.4: the records of `query=id:1|2`, or a page of experiments by `limit` and
 * `offset`. Returns null for any other path.
 */
export function listOf(url: string): object | null {
  const { pathname, searchParams } = new URL(url, "http://service");
  const [, kind = ""] = /^\/api\/v1\/root\/quick-start\/(\w+)\/?$/.exec(pathname) ?? [];
  const make = MAKE[kind];
  if (make === undefined) return null;
  const ids = /^id:([\d|]+)$/
    .exec(searchParams.get("query") ?? "")?.[1]
    ?.split("|")
    .map(Number);
  if (ids) return { count: ids.length, next: null, previous: null, results: ids.map(make) };
  const offset = Number(searchParams.get("offset") ?? 0);
  const length = Math.min(Number(searchParams.get("limit") ?? 20), LISTED - offset);
  return {
    count: LISTED,
    next:
      offset + length < LISTED ? `http://service${pathname}?limit=${length}&offset=${offset + length}` : null,
    previous: null,
    results: Array.from({ length }, (_, index) => make(offset + index + 1)),
  };
}
