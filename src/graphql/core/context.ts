import type { TracedContext, ResponsePath } from "../../engine/field-extensions.ts";
import type { Session } from "../../rest/session/session.ts";
import type { CallerLive } from "../../live/live.ts";
import type { Capability } from "../../rest/api/endpoint.ts";
import type { Server } from "../../rest/api/server.ts";

/** The gateway's version, capabilities and limits, which the field `gateway` exposes. */
export interface GatewayDetails {
  readonly version: string;
  readonly upstreamApiVersion: string;
  readonly capabilities: readonly Capability[];
  readonly maxUpstreamRequests: number;
  readonly maxRootFields: number;
  readonly maxPageSize: number;
  readonly maxScannedRows: number;
  readonly maxLogBytes: number;
}

/** The context of resolvers, of one operation or event. */
export interface Context extends TracedContext {
  readonly session: Session;
  readonly server: Server;
  readonly gateway: GatewayDetails;
  /** Root of the download URLs, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether selections are prefetched. Tests switch it off to compare. */
  readonly lookAhead: boolean;
  /** Called when a link costs no upstream request; null without a trace. */
  readonly onFree: (() => void) | null;
  /** Called for rows that the gateway compares for some arguments; null without a trace. */
  readonly onScan: ((compared: readonly string[], rows: number) => void) | null;
  readonly at: ((path: ResponsePath) => Context) | null;
  /** Runs long work in time slices, fairly among callers. Never resolves when the operation is stopped. */
  readonly runCooperatively: <Result>(steps: Steps<Result>) => Promise<Result>;
  /** Runs it once for all fields of the operation with the same source and the same arguments. */
  readonly memoized: <Result>(
    source: object,
    args: readonly unknown[],
    steps: () => Steps<Result>,
  ) => Promise<Result>;
}

/** Long work, step by step. A step may yield the memory that it has taken for good, counted as bytes of JSON. */
export type Steps<Result> = Generator<number | undefined, Result, undefined>;

/** Items, and bytes of their results, between two pauses. */
const ITEM_STRIDE = 500;
const BYTES_PER_SLICE = 20_000;

/** Works at each of many items, in steps. `work` returns the memory that it has taken for good, if any. */
export function* forEach<Item>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => number | undefined | void,
): Steps<void> {
  let [seen, bytes] = [0, 0];
  for (const item of items) {
    bytes += work(item, seen) ?? 0;
    if (++seen % ITEM_STRIDE > 0 && bytes < BYTES_PER_SLICE) continue;
    yield bytes;
    bytes = 0;
  }
  yield bytes;
}

/** Computes a result for each item, in steps, and leaves out those that are null. */
export function* makeEach<Item, Result>(
  items: Iterable<Item>,
  make: (item: Item) => Steps<Result | null>,
): Steps<Result[]> {
  const all: Result[] = [];
  for (const item of items) {
    const result = yield* make(item);
    if (result !== null) all.push(result);
  }
  return all;
}

export type ResultOf<Make> = Make extends (...args: never) => Steps<readonly (infer Result)[]>
  ? Result
  : never;

/** The context in which a subscription begins. Its events are executed in contexts of their own. */
export interface StreamContext extends Context {
  readonly live: CallerLive;
}
