import DataLoader from "dataloader";
import type { Batch, Find, ListRead, Query, RunRead } from "../api/batches.ts";
import type { AnyEndpoint, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import { batchFaultOf } from "../../errors.ts";
import type { WindowRequest } from "./log-window.ts";

/** One GET of the operation, which any number of its fields can share. */
export interface Read {
  readonly endpoint: Get<never, unknown>;
  /** The path as this server spells it, and the query. */
  readonly path: string;
  /** The part of a log that is read; null: the whole response. */
  readonly window: WindowRequest | null;
  /** What is needed of a run, when an item of a list may answer it; null: the whole record. */
  readonly part: RunRead | null;
  /** The same for all reads that share a response. */
  readonly key: string;
  /** The same for all parts of this record: the item of a list may lack keys. Null where no list answers such reads. */
  readonly partKey: string | null;
}

const keyOf = ({ part, partKey, key }: Read): string => (part && partKey) ?? key;

export interface ReadOptions {
  readonly query?: Query | undefined;
  readonly window?: WindowRequest;
  /** What is needed of a run, when others of its kind may be read with it: then no more than that may come. */
  readonly part?: Omit<RunRead, "query"> | undefined;
}

/** The time slices in which an operation's result is completed. */
export interface Pacing {
  /** Of an operation that was stopped nothing more is read. */
  readonly isStopped: () => boolean;
  /** Whether values wait for a later slice: more reads may follow from them. */
  readonly isWaiting: () => boolean;
  /** Calls back when no value waits any more. */
  readonly onPassed: (callback: () => void) => void;
}

interface ReadSettings {
  readonly server: Server;
  /** Null when the endpoint cannot be read many at a time. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
  /** Sends the request of one read. `waiting` counts the places of the result that wait for it. */
  readonly request: (read: Read, waiting: () => number) => Promise<unknown>;
  /** Told when the server refuses the list of a batch and answers the single reads. */
  readonly onRefused: (batch: Batch) => void;
  readonly pacing: Pacing;
}

/** DataLoader settles a whole batch at once: this lets each read of it settle with its own request. */
interface Started {
  readonly response: Promise<unknown>;
}

/**
 * The reads of one operation since its last command. DataLoader is the one cache, keyed by address, and `start` the one
 * place where reads are joined: equal reads share a request, and reads that a list of this server can answer become
 * that list. The service's document has no lists for that, so there each read is a request of its own.
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

  /** Requests a whole record or list now, unless that was done before. */
  const startWhole = (read: Read, waiting: () => number): Promise<unknown> => {
    const cached = cache.get(read.key);
    if (cached) return cached.then(({ response }) => response);
    const response = request(read, waiting);
    loader.prime(read, { response });
    return response;
  };

  const startAlone = (read: Read): Promise<unknown> =>
    startWhole({ ...read, part: null }, () => cache.places(read));

  /** Requests one list that answers several reads. What the list does not hold, or fails at, is read alone. */
  const startList = ({ batch, list, members }: ListGroup): [Read, Promise<unknown>][] => {
    const waiting = () => members.reduce((sum, { read }) => sum + cache.places(read), 0);
    const found = startWhole(list.read, waiting).then(list.find);
    found.catch((error: unknown) => {
      if (batchFaultOf(error) !== "refused") return;
      // Only when each record can be read is it the list that the server refuses.
      Promise.all(members.map(({ read }) => startAlone(read))).then(
        () => onRefused(batch),
        () => {},
      );
    });
    return members.map(({ read, run }) => [read, pick(found, run, () => startAlone(read))]);
  };

  /** The lists of this server that answer several of these reads, or that have been requested already. */
  const listsFor = (reads: readonly Read[]): ListGroup[] =>
    groupsOf(reads, batchOf).flatMap(({ batch, members }) => {
      const list = batch.list(
        [members[0].run, ...members.slice(1).map(({ run }) => run)],
        // The cast is true because a read gives the response of its own endpoint.
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
          request(read, () => cache.places(read)),
        );
    }
    const parts = reads.filter((read) => read.part && !cache.get(read.key));
    for (const group of listsFor(parts)) {
      for (const [read, response] of startList(group)) responses.set(read, response);
    }
    return reads.map((read) => ({ response: responses.get(read) ?? startAlone(read) }));
  };

  /** Starts a batch once all that follows without waiting has run, and nothing waits for a time slice. */
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
    cache.addPlace(read);
    return (await started).response;
  };

  return {
    /** The response, shared with all who load the same. Rejects with `InputError` when a path parameter cannot be used. */
    load: <At>(endpoint: Get<At, unknown>, at: At, options: ReadOptions): Promise<unknown> =>
      load(() => readOf(endpoint, at, options)),

    /** Requests the list that will answer reads such as this one, before they are known. */
    loadAhead: (endpoint: AnyEndpoint, run: RunRead): void => {
      const batch = batchOf(endpoint);
      if (batch?.common(run) == null) return;
      const list = batch.list([run], ({ endpoint: of, at, query }) => readOf(of, at, { query }));
      // Its failure is told where its answer is needed.
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

/** Reads that one list can answer, no more than it may answer at once. */
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
    if (!group || group.members.length >= batch.most) {
      if (group) full.push(group);
      groups.set(key, { batch, members: [{ read, run }] });
    } else group.members.push({ read, run });
  }
  return [...full, ...groups.values()];
}

/** The answer of a read in a list; what the list does not hold or failed at is read alone, so that its error is the true one. */
async function pick(found: Promise<Find>, run: RunRead, readAlone: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await found)(run) ?? readAlone();
  } catch (error) {
    if (batchFaultOf(error) === null) throw error;
    return readAlone();
  }
}

function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? "" : `?${search}`;
}

interface CacheEntry {
  readonly started: Promise<Started>;
  places: number;
}

/** DataLoader's cache, which also counts how many places of the result loaded each read. */
function createCache() {
  const entries = new Map<string, CacheEntry>();
  const placesAt = (key: string): number => entries.get(key)?.places ?? 0;
  return {
    get: (key: string) => entries.get(key)?.started,
    set: (key: string, started: Promise<Started>) => entries.set(key, { started, places: 0 }),
    delete: (key: string) => entries.delete(key),
    clear: () => entries.clear(),
    addPlace: (read: Read): void => {
      const entry = entries.get(keyOf(read));
      if (entry) entry.places++;
    },
    /** Places that need the whole response or a part of it. */
    places: ({ key, partKey }: Read): number => placesAt(key) + (partKey === null ? 0 : placesAt(partKey)),
  };
}
