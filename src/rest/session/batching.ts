import DataLoader from "dataloader";
import type { Batch, Find, ListRead, Query, RunRead } from "../api/batches.ts";
import type { AnyEndpoint, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import { batchFaultOf } from "../../errors.ts";
import type { WindowRequest } from "./log-window.ts";

/** One GET of an operation. Several fields can share it. */
export interface Read {
  readonly endpoint: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** The part of a log to read; null for the whole response. */
  readonly window: WindowRequest | null;
  /** The keys that are needed, when a list item may replace the record; null for the whole record. */
  readonly part: RunRead | null;
  /** Identifies the response: reads with the same key share it. */
  readonly key: string;
  /** Identifies partial reads of the record, since a list item may lack keys. Null when no list can replace the record. */
  readonly partKey: string | null;
}

const keyOf = ({ part, partKey, key }: Read): string => (part && partKey) ?? key;

export interface ReadOptions {
  readonly query?: Query | undefined;
  readonly window?: WindowRequest;
  /** The keys that are needed, so that a list item, which may lack others, can replace the record. */
  readonly part?: Omit<RunRead, "query"> | undefined;
}

/** The progress of an operation, which completes its result in time slices. */
export interface Pacing {
  /** Whether the operation is stopped. No more reads start then. */
  readonly isStopped: () => boolean;
  /** Whether values are queued for a later slice. More reads may follow from them. */
  readonly isWaiting: () => boolean;
  /** Calls back when no value is queued. */
  readonly onPassed: (callback: () => void) => void;
}

interface ReadSettings {
  readonly server: Server;
  /** The batch of an endpoint; null when its reads cannot be batched. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
  /** Sends the request of one read. `waiting` counts the positions of the result that wait for it. */
  readonly request: (read: Read, waiting: () => number) => Promise<unknown>;
  /** Called when the server rejects the list of a batch but serves the single reads. */
  readonly onRefused: (batch: Batch) => void;
  readonly pacing: Pacing;
}

/** DataLoader settles a whole batch at once. The wrapper lets each read settle with its own request. */
interface Started {
  readonly response: Promise<unknown>;
}

/**
 * Creates the loader for the reads of one operation since its last command. DataLoader is the only cache, keyed by
 * address, and `start` the only place that batches: equal reads share a request, and reads that one list of this server
 * covers become that list. The service's document has no such lists; there each read is a request of its own.
 */
export function createReads({ server, batchOf, request, onRefused, pacing }: ReadSettings) {
  const cache = createCache();

  const readOf = <At>(endpoint: Get<At, unknown>, at: At, { query, window, part }: ReadOptions): Read => {
    const path = (server.override(endpoint) ?? endpoint).toPath(at) + searchOf(query);
    const key = `${endpoint.path} ${path}${window ? ` ${JSON.stringify(window)}` : ""}`;
    const batch = batchOf(endpoint);
    const run = batch && part ? { ...part, query } : null;
    return {
      endpoint,
      path,
      window: window ?? null,
      part: run && batch?.common(run) != null ? run : null,
      key,
      partKey: batch && `${key} in part`,
    };
  };

  /** Requests a whole record or list, unless it is cached. */
  const startWhole = (read: Read, waiting: () => number): Promise<unknown> => {
    const cached = cache.get(read.key);
    if (cached) return cached.then(({ response }) => response);
    const response = request(read, waiting);
    loader.prime(read, { response });
    return response;
  };

  const startSingle = (read: Read): Promise<unknown> =>
    startWhole({ ...read, part: null }, () => cache.positions(read));

  /** Requests one list for several reads. Records that the list does not contain are read one by one. */
  const startList = ({ batch, list, members }: ListGroup): [Read, Promise<unknown>][] => {
    const waiting = () => members.reduce((sum, { read }) => sum + cache.positions(read), 0);
    const found = startWhole(list.read, waiting).then(list.find);
    found.catch((error: unknown) => {
      if (batchFaultOf(error) !== "refused") return;
      // The list itself is rejected only if every single read succeeds.
      Promise.all(members.map(({ read }) => startSingle(read))).then(
        () => onRefused(batch),
        () => {},
      );
    });
    return members.map(({ read, run }) => [read, pick(found, run, () => startSingle(read))]);
  };

  /** The lists of this server that cover several of these reads, or that are already requested. */
  const listsFor = (reads: readonly Read[]): ListGroup[] =>
    groupsOf(reads, batchOf).flatMap(({ batch, members }) => {
      const list = batch.list(
        [members[0].run, ...members.slice(1).map(({ run }) => run)],
        // Safe: a read returns the response of its own endpoint.
        <At, Answer>({ endpoint, at, query, find }: ListRead<At, Answer>) => ({
          read: readOf(endpoint, at, { query }),
          find: (response: unknown) => find(response as Answer),
        }),
      );
      return members.length > 1 || cache.get(list.read.key) ? [{ batch, list, members }] : [];
    });

  const start = async (reads: readonly Read[]): Promise<Started[]> => {
    const responses = new Map<Read, Promise<unknown>>();
    for (const read of reads) {
      if (!read.part)
        responses.set(
          read,
          request(read, () => cache.positions(read)),
        );
    }
    const parts = reads.filter((read) => read.part && !cache.get(read.key));
    for (const group of listsFor(parts)) {
      for (const [read, response] of startList(group)) responses.set(read, response);
    }
    return reads.map((read) => ({ response: responses.get(read) ?? startSingle(read) }));
  };

  /** Dispatches a batch after all pending microtasks, when no value is queued for a time slice. */
  const schedule = (dispatch: () => void): void =>
    void Promise.resolve().then(() =>
      process.nextTick(() => {
        if (pacing.isStopped()) return;
        if (pacing.isWaiting()) pacing.onPassed(() => schedule(dispatch));
        else dispatch();
      }),
    );

  const loader = new DataLoader<Read, Started, string>(start, {
    cacheKeyFn: keyOf,
    cacheMap: cache,
    batchScheduleFn: schedule,
  });

  const load = async (describe: () => Read): Promise<unknown> => {
    const read = describe();
    const started = loader.load(read);
    cache.addPosition(read);
    return (await started).response;
  };

  return {
    /** Loads a response; equal loads share it. Rejects with `InputError` when a path parameter is invalid. */
    load: <At>(endpoint: Get<At, unknown>, at: At, options: ReadOptions): Promise<unknown> =>
      load(() => readOf(endpoint, at, options)),

    /** Prefetches the list that covers reads like this one. */
    prefetchList: (endpoint: AnyEndpoint, run: RunRead): void => {
      const batch = batchOf(endpoint);
      if (batch?.common(run) == null) return;
      const list = batch.list([run], ({ endpoint: of, at, query }) => readOf(of, at, { query }));
      // The reads that need the list report its failure.
      load(() => list).catch(() => {});
    },
  };
}

interface Member {
  readonly read: Read;
  readonly run: RunRead;
}

interface Group {
  readonly batch: Batch;
  readonly members: readonly [Member, ...Member[]];
}

interface ListGroup extends Group {
  readonly list: { readonly read: Read; readonly find: (response: unknown) => Find };
}

/** Groups reads that one list can cover, up to the size of its batch. */
function groupsOf(reads: readonly Read[], batchOf: ReadSettings["batchOf"]): Group[] {
  const groups = new Map<string, { readonly batch: Batch; readonly members: [Member, ...Member[]] }>();
  const full: Group[] = [];
  for (const read of reads) {
    const batch = batchOf(read.endpoint);
    const run = read.part;
    const common = run && batch?.common(run);
    if (!batch || !run || common == null) continue;
    const key = `${read.endpoint.path} ${common}`;
    const group = groups.get(key);
    if (!group || group.members.length >= batch.maxReads) {
      if (group) full.push(group);
      groups.set(key, { batch, members: [{ read, run }] });
    } else group.members.push({ read, run });
  }
  return [...full, ...groups.values()];
}

/** Picks a record from a list. Reads it singly when the list lacks it or failed, so that it gets its own error. */
async function pick(
  found: Promise<Find>,
  run: RunRead,
  readSingle: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return (await found)(run) ?? readSingle();
  } catch (error) {
    if (batchFaultOf(error) === null) throw error;
    return readSingle();
  }
}

function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? "" : `?${search}`;
}

interface CacheEntry {
  readonly started: Promise<Started>;
  /** Number of positions in the result that loaded the read. */
  positions: number;
}

/** Creates DataLoader's cache, which also counts the positions of the result that loaded each read. */
function createCache() {
  const entries = new Map<string, CacheEntry>();
  const positionsAt = (key: string): number => entries.get(key)?.positions ?? 0;
  return {
    get: (key: string) => entries.get(key)?.started,
    set: (key: string, started: Promise<Started>) => entries.set(key, { started, positions: 0 }),
    delete: (key: string) => entries.delete(key),
    clear: () => entries.clear(),
    addPosition: (read: Read): void => {
      const entry = entries.get(keyOf(read));
      if (entry) entry.positions++;
    },
    /** Number of positions that need the whole response or a part of it. */
    positions: ({ key, partKey }: Read): number =>
      positionsAt(key) + (partKey === null ? 0 : positionsAt(partKey)),
  };
}
