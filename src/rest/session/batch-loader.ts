import { setImmediate } from "node:timers/promises";
import DataLoader from "dataloader";
import { batchFallbackOf, isTooLarge } from "../../errors.ts";
import type { BatchRule, Find, ListRead, Query, RunRead } from "../api/batch-rules.ts";
import type { AnyEndpoint, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import type { ReadChunk } from "../client/client.ts";
import { noToken } from "../client/failure.ts";
import { serialize } from "./list-position.ts";
import { type OperationTrace, TraceEntry } from "../../operation-trace.ts";
import { Read, type ReadContext, type ReadTarget, type ReadSharing } from "./shared-read.ts";

export interface ReadOptions {
  readonly query?: Query | undefined;
  /** Reads a part of a log. Equal keys mean equal parts. */
  readonly window?: { readonly key: string; readonly read: ReadChunk<unknown> };
  /** The keys that the caller needs. A list item that has them can replace the record. */
  readonly part?: Omit<RunRead, "query"> | undefined;
}

/** The progress of an operation. Batches are sent when the operation has no more queued work. */
export interface OperationProgress {
  /** Whether the operation is stopped. If so, no more reads start. */
  readonly isStopped: boolean;
  /** Whether work is queued for a later time slice. That work may start more reads. */
  isWaiting(): boolean;
  /** Calls back when no work is queued. */
  onIdle(callback: () => void): void;
  /** Counts memory that the operation uses until it ends. May stop the operation. */
  chargeMemory(bytes: number): void;
}

/** For reads outside of operations. */
export const UNTRACKED: OperationProgress = {
  isStopped: false,
  isWaiting: () => false,
  onIdle: (callback) => callback(),
  chargeMemory: () => {},
};

export interface BatchSettings {
  readonly shared: {
    readonly server: Server;
    /** Receives the route of a batch whose list the server rejects. */
    readonly onRefused: (route: string) => void;
  };
  readonly progress: OperationProgress;
  /** The trace for results that report how they were obtained; otherwise null. */
  readonly operationTrace: OperationTrace | null;
}

/** How long a rejected batch is remembered, in milliseconds. */
const REFUSED_MS = 600_000;

/** Maximum reads that are started in one tick. An operation may start thousands, although its limits prevent most from being sent. */
const READS_PER_TICK = 200;
const isTickOver = (index: number): boolean => index % READS_PER_TICK === READS_PER_TICK - 1;

/** Memory of a read without its response, in the unit of the memory budget. `KEY_COPIES`: number of strings that contain its path. */
const READ_BYTES = 2_500;
const KEY_COPIES = 2;

interface Member {
  readonly read: Read;
  readonly run: RunRead;
}

/** Reads that one list covers. */
interface Group {
  readonly batch: BatchRule;
  readonly members: [Member, ...Member[]];
}

/**
 * The reads of one operation since its last command. Equal reads share a request. If one list of the server covers several reads, that list
 * is requested in their place. The documented API has no such lists, so a server with only that API receives one request per read.
 */
export class BatchLoader {
  readonly #context: ReadContext;
  readonly #settings: BatchSettings;
  readonly #refused: ReadSharing["refused"];
  readonly #reads = new Map<string, Read>();
  /** Reads of whole records, by the object that contains their path parameters. Equal references share that object. */
  readonly #byAddress = new Map<unknown, Read>();
  /** Gathers the reads of a batch. DataLoader's cache is off, because with it a batch would settle as a whole, not read by read. */
  #loader: DataLoader<Read, unknown> | null = null;

  constructor(context: ReadContext, settings: BatchSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#refused = context.shared?.refused ?? new Map();
  }

  /**
   * Loads a response. Equal loads share one response. Rejects with `InputError` if a path parameter is invalid, and with `GatewayError` if
   * the caller has no token or the server does not offer the endpoint. Nothing is sent in these cases.
   */
  load<At>(endpoint: Get<At, unknown>, at: At, options: ReadOptions): Promise<unknown> {
    try {
      const isWhole = !options.query && !options.window;
      const known = isWhole ? this.#byAddress.get(at) : undefined;
      const read =
        known?.target.endpoint === endpoint ? known : this.#find(this.#targetOf(endpoint, at, options));
      if (isWhole && !known && !read.target.part) this.#byAddress.set(at, read);
      read.addPriority(1);
      read.traceEntry?.load();
      return read.response;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns the read with a target. Creates the read first if necessary, and adds it to the next batch. */
  #find(target: ReadTarget): Read {
    // Reads that a list item can answer have keys of their own, because the list item may lack keys of the record.
    const key = target.part ? inPart(target.key) : target.key;
    const existing = this.#reads.get(key);
    if (existing) return existing;
    this.#context.requester.reservation.charge(READ_BYTES + KEY_COPIES * key.length);
    const read = this.#open(target, key);
    this.#loader ??= new DataLoader((reads) => this.#start(reads), {
      cache: false,
      batchScheduleFn: (dispatch) => this.#schedule(dispatch),
    });
    void this.#loader.load(read);
    return read;
  }

  /** Prefetches the list that covers reads like this one. */
  prefetchList(endpoint: AnyEndpoint, run: RunRead): void {
    const part = this.#partOf(endpoint, run);
    if (!part) return;
    const list = part.batch.list([run]);
    if (this.#isTooLarge(list)) return;
    // If the list fails, the reads that need it report the failure.
    this.load(list.endpoint, list.at, { query: list.query }).catch(() => {});
  }

  #open(target: ReadTarget, key: string): Read {
    const read = new Read(target, this.#context);
    this.#reads.set(key, read);
    const { operationTrace } = this.#settings;
    if (!operationTrace) return read;
    // If a list item lacked a key, the record is read as well. Both reads have the same trace entry.
    const known = this.#reads.get(key === target.key ? inPart(key) : target.key);
    read.traceEntry = known?.traceEntry ?? new TraceEntry(operationTrace);
    read.traceEntry.await(read.response);
    return read;
  }

  #targetOf<At>(endpoint: Get<At, unknown>, at: At, { query, window, part }: ReadOptions): ReadTarget {
    if (this.#context.token === null) throw noToken();
    const supported = this.#settings.shared.server.supported(endpoint);
    const search = query ? serialize(query) : "";
    const path = supported.toPath(at) + (search === "" ? "" : `?${search}`);
    return {
      endpoint,
      supported,
      path,
      window: window?.read ?? null,
      part: part ? this.#partOf(endpoint, { ...part, query }) : null,
      key: `${endpoint.path} ${path}${window ? ` ${window.key}` : ""}`,
    };
  }

  /** How a list can cover a read; null if no list can. */
  #partOf(endpoint: AnyEndpoint, run: RunRead): ReadTarget["part"] {
    const batch = this.#settings.shared.server.batchOf(endpoint);
    const common = batch?.common(run) ?? null;
    if (!batch || common === null || (this.#refused.get(batch) ?? 0) > Date.now()) return null;
    return { batch, run, common };
  }

  /** Dispatches a batch after all pending microtasks, when no work is queued for a later time slice. */
  #schedule(dispatch: () => void): void {
    const { progress } = this.#settings;
    // `queueMicrotask` would create an async resource for each batch.
    void Promise.resolve().then(() =>
      process.nextTick(() => {
        if (progress.isStopped) return;
        if (progress.isWaiting()) progress.onIdle(() => this.#schedule(dispatch));
        else dispatch();
      }),
    );
  }

  /** Starts the reads of a batch, which then settle one by one. */
  async #start(reads: readonly Read[]): Promise<readonly Read[]> {
    // The loader would keep the batch in memory until the next one.
    this.#loader = null;
    try {
      const groups = new Map<string, Group[]>();
      const singles: Read[] = [];
      for (const [index, read] of reads.entries()) {
        if (isTickOver(index)) await setImmediate();
        const { part, key } = read.target;
        if (!part) read.start();
        else if (this.#reads.has(key)) singles.push(read);
        else addTo(groups, part, read);
      }
      for (const group of [...groups.values()].flat()) singles.push(...this.#startList(group));
      for (const [index, read] of singles.entries()) {
        if (isTickOver(index)) await setImmediate();
        read.resolve(this.#readSingle(read));
      }
    } catch (error) {
      for (const read of reads) read.reject(error);
    }
    return reads;
  }

  /** Reads the whole record in place of a list item, unless it was already requested. */
  #readSingle(read: Read): Promise<unknown> {
    read.traceEntry?.add({ kind: "served", by: "request", list: null });
    const target = { ...read.target, part: null };
    const requested = this.#reads.get(target.key);
    const whole = requested ?? this.#open(target, target.key);
    if (!requested) whole.start();
    whole.answers(read);
    return whole.response;
  }

  /**
   * Requests the list that covers several reads, unless it was already requested. Records that the list does not contain are read one by
   * one. Returns the reads if the list would not help (for a single read, or if it was too large before). They then start one by one.
   */
  #startList({ batch, members }: Group): readonly Read[] {
    const [{ read: only, run: first }, ...others] = members;
    const covering = batch.list([first, ...others.map(({ run }) => run)]);
    const { endpoint, at, query, find } = covering;
    const target = this.#targetOf(endpoint, at, { query });
    const requested = this.#reads.get(target.key);
    if (!requested && (others.length === 0 || this.#isTooLarge(covering)))
      return [only, ...others.map(({ read }) => read)];
    const list = requested ?? this.#open(target, target.key);
    for (const { read } of members) {
      list.answers(read);
      read.traceEntry?.add({ kind: "served", by: "batch", list: list.traceEntry });
    }
    if (!requested) list.start();
    const found = list.response.then(find);
    for (const member of members) member.read.resolve(this.#pick(found, member));
    this.#learn(found, covering, batch, members).catch(() => {});
    return [];
  }

  /** Picks a record from a list. If the list failed or lacks the record, reads the record, so that it fails with its own error. */
  async #pick(found: Promise<Find>, { read, run }: Member): Promise<unknown> {
    try {
      return (await found)(run) ?? this.#readSingle(read);
    } catch (error) {
      if (batchFallbackOf(error) === null) throw error;
      return this.#readSingle(read);
    }
  }

  /** Whether an earlier response with this list was too large. */
  #isTooLarge(list: ListRead): boolean {
    return this.#context.largePages.find(() => markOf(list)) !== undefined;
  }

  /** Records the failure of a list. The batch counts as rejected only if every single read succeeds. */
  async #learn(
    found: Promise<Find>,
    list: ListRead,
    batch: BatchRule,
    members: readonly Member[],
  ): Promise<void> {
    const error = await found.then(
      () => null,
      (cause: unknown) => cause,
    );
    if (isTooLarge(error)) this.#context.largePages.add(markOf(list), Number.POSITIVE_INFINITY);
    if (batchFallbackOf(error) !== "refused") return;
    await Promise.all(members.map(({ read }) => read.response));
    this.#refused.set(batch, Date.now() + REFUSED_MS);
    this.#settings.shared.onRefused(batch.endpoint.path);
  }
}

const markOf = ({ endpoint, at, query }: ListRead): string => JSON.stringify([endpoint.path, at, query]);

const inPart = (key: string): string => `${key} in part`;

/** Adds a read to a group of reads that one list can cover. Opens a new group if the last one is full. */
function addTo(
  groups: Map<string, Group[]>,
  { batch, run, common }: NonNullable<ReadTarget["part"]>,
  read: Read,
): void {
  const key = `${batch.endpoint.path} ${common}`;
  const alike = groups.get(key) ?? [];
  groups.set(key, alike);
  const last = alike.at(-1);
  if (last && last.members.length < batch.maxReads) last.members.push({ read, run });
  else alike.push({ batch, members: [{ read, run }] });
}
