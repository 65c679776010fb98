import fc from "fast-check";
import { expect, test } from "vitest";
import { startBroken } from "../support/broken.ts";
import { cases } from "../support/cases.ts";
import { callsOf, startDemoService, still, tokenOf } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { askIncrementally, merge, nullAt, type Path, type PayloadJson } from "../support/incremental.ts";
import { deferral, UNSTEADY as LEFT_OUT } from "../support/random-deferral.ts";
import { EXISTING_ROOTS, listOperation, operation, ROOTS, VARIABLES } from "../support/random-operations.ts";

const EXISTING = operation({ roots: EXISTING_ROOTS, leftOut: LEFT_OUT, depth: 4 });
const RECORDS = operation({ roots: ROOTS, leftOut: LEFT_OUT, depth: 4 });
const LISTS = listOperation({ leftOut: LEFT_OUT, depth: 3 });

/** Sends a document once for a complete result, and once in a form with incremental delivery. */
async function startBoth(share: number, areListsKept = false) {
  const demo = await startDemoService({ now: still });
  const token = tokenOf(demo, "ada");
  const upstream = await startBroken(demo.url, share, areListsKept);
  const { url } = await startGateway({
    upstream,
    token,
    env: { MAX_DEPTH: "30", UPSTREAM_PROFILE: "polyaxon-0.2" },
  });
  const headers = { authorization: `token ${token}` };
  const variables = VARIABLES;
  // The gateway remembers the caller's name: only the first operation of a token reads it.
  await askIncrementally(url, { query: "{ viewer { username } }", variables: {} }, headers);
  callsOf(demo);
  return async (document: string, query: string) => {
    const payloads = await askIncrementally(url, { query, variables }, headers);
    const calls = callsOf(demo);
    const [whole = {}] = await askIncrementally(url, { query: document, variables }, headers);
    return { merged: merge(payloads), whole, calls, expectedCalls: callsOf(demo) };
  };
}

test.each([
  [0, "records that exist", EXISTING, 50],
  [0, "records", RECORDS, 50],
  [0.1, "records", RECORDS, 50],
  [0.5, "records", RECORDS, 50],
  [0, "lists", LISTS, 20],
  [0.1, "lists", LISTS, 20],
  [0.5, "lists", LISTS, 20],
] as const)(
  "at failure rate %d, merged %s equal whole results, except payloads' errors",
  async (share, _, operations, most) => {
    // Without lists by ids: the gateway remembers for a while that the service rejected them.
    const ask = await startBoth(share, true);
    await fc.assert(
      fc.asyncProperty(operations, deferral(), async (document, defer) => {
        const { merged, whole, calls, expectedCalls } = await ask(document, defer(document));
        // Deferred fields below a null cause no requests; complete results prefetch them.
        const isSent = (call: string) => !whole.errors || calls.includes(call);
        const needed = expectedCalls.filter(isSent);
        expect(operations === EXISTING ? calls : needed).toEqual(needed);
        const kept = keptPlaces(merged, whole);
        expect(comparable(merged.data, whole.data, kept, [])).toEqual(whole.data);
        const isElsewhere = (place: Path) => !kept.some((path) => isWithin(place, path));
        expect(nullsOf(merged.data, merged).filter(isElsewhere)).toEqual(
          nullsOf(whole.data, whole).filter(isElsewhere),
        );
      }),
      { numRuns: cases(15, most) },
    );
  },
);

/**
 * The paths at which an error stayed in its payload, and the complete result has null or more data. A missing record is null if the initial
 * result selects nothing else of it. Otherwise only the failed fields are null.
 */
function keptPlaces({ errors, failed }: ReturnType<typeof merge>, whole: PayloadJson): readonly Path[] {
  const places = errors.flatMap(({ path = [] }) => {
    const place = nullAt(whole.data, path);
    const isHigher = whole.errors?.some(
      (error) => error.path && path.length < error.path.length && isWithin(error.path, path),
    );
    return place.length < path.length || isHigher ? [place] : [];
  });
  return [...failed.map((path) => nullAt(whole.data, path)), ...places];
}

/** Merged data, in which values of the complete result replace those where an error stayed in its payload. */
function comparable(merged: unknown, whole: unknown, kept: readonly Path[], at: Path): unknown {
  if (kept.some((path) => path.join() === at.join())) return whole;
  if (typeof merged !== "object" || merged === null) return merged;
  const below = ([key, value]: [string, unknown], index: number): [string, unknown] => [
    key,
    comparable(value, Reflect.get(Object(whole), key), kept, [...at, Array.isArray(merged) ? index : key]),
  ];
  const entries = Object.entries(merged).map(below);
  return Array.isArray(merged) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

const isWithin = (path: Path, above: Path): boolean => above.every((key, index) => path[index] === key);

/** The paths of a result that are null with an error. */
function nullsOf(data: unknown, { errors = [] }: Pick<PayloadJson, "errors">): Path[] {
  const paths = errors.flatMap(({ path, extensions }): readonly Path[] => {
    const all = extensions?.["paths"];
    // Safe: the gateway lists the paths there.
    return Array.isArray(all) ? (all as readonly Path[]) : path ? [path] : [];
  });
  const places = new Map(
    paths.map((path) => nullAt(data, path)).map((place) => [JSON.stringify(place), place]),
  );
  return [...places].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
}
