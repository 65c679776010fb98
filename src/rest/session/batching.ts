import DataLoader from "dataloader";
import type { Batch, ListRead, Query, RunRead } from "../api/batches.ts";
import type { AnyEndpoint, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import { batchFaultOf } from "../../errors.ts";
import type { Demand } from "../client/bulkhead.ts";
import type { WindowRequest } from "./log-window.ts";
import { groupsOf, ListDemand, type ListGroup, pick } from "./list-reads.ts";
import type { ReadNotes } from "./notes.ts";
import { cacheKeyOf, Read, type ReadAddress } from "./read.ts";

export interface ReadOptions {
  readonly query?: Query | undefined;
  readonly window?: WindowRequest;
  /** The keys that are needed, so that a list item, which may lack others, can replace the record. */
  readonly part?: Omit<RunRead, "query"> | undefined;
}

/** The progress of an operation, which completes its result in time slices. */
export interface Pacing {
  /** Whether the operation is stopped. No more reads start then. */
  isStopped(): boolean;
  /** Whether work is queued for a later slice. More reads may follow from it. */
  isWaiting(): boolean;
  /** Calls back when no work is queued. */
  onPassed(callback: () => void): void;
}

/** The pacing of what is no operation. */
export const UNPACED: Pacing = {
  isStopped: () => false,
  isWaiting: () => false,
  onPassed: (callback) => callback(),
};

interface ReadSettings {
  readonly server: Server;
  /** The batch of an endpoint; null when its reads cannot be batched. */
  readonly batchOf: (endpoint: AnyEndpoint) => Batch | null;
  /** Sends the request of a read, and resolves or rejects it. */
  readonly send: (read: Read, demand: Demand) => void;
  /** Called when the server rejects the list of a batch but serves the single reads. */
  readonly onRefused: (batch: Batch) => void;
  readonly pacing: Pacing;
  /** Null unless the operation is explained. */
  readonly notes: ReadNotes | null;
}

/**
 * The reads of one operation since its last command. Equal reads share a request, and reads that one list of this server
 * covers become that list. The service's document has no such lists; there each read is a request of its own. DataLoader
 * collects the reads of a batch; it does not cache them, because a batch would settle as a whole, not read by read.
 */
export class Reads {
  readonly #settings: ReadSettings;
  readonly #cache = new Map<string, Read>();
  readonly #loader: DataLoader<Read, unknown>;

  constructor(settings: ReadSettings) {
    this.#settings = settings;
    this.#loader = new DataLoader((reads) => this.#start(reads), {
      cache: false,
      batchScheduleFn: (dispatch) => this.#schedule(dispatch),
    });
  }

  /** Loads a response; equal loads share it. Rejects with `InputError` when a path parameter is invalid. */
  load<At>(endpoint: Get<At, unknown>, at: At, options: ReadOptions): Promise<unknown> {
    try {
      return this.#load(this.#addressOf(endpoint, at, options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Prefetches the list that covers reads like this one. */
  prefetchList(endpoint: AnyEndpoint, run: RunRead): void {
    const batch = this.#settings.batchOf(endpoint);
    if (batch?.common(run) == null) return;
    const list = batch.list([run], ({ endpoint: of, at, query }) => this.#addressOf(of, at, { query }));
    // The reads that need the list report its failure.
    this.#load(list).catch(() => {});
  }

  #load(address: ReadAddress): Promise<unknown> {
    const key = cacheKeyOf(address);
    let read = this.#cache.get(key);
    if (!read) {
      read = this.#open(address, key);
      void this.#loader.load(read);
    }
    read.positions++;
    read.note?.load();
    return read.response;
  }

  #open(address: ReadAddress, key: string): Read {
    const read = new Read(address);
    this.#cache.set(key, read);
    read.note = this.#settings.notes?.open(address.key, read.response) ?? null;
    return read;
  }

  #addressOf<At>(endpoint: Get<At, unknown>, at: At, { query, window, part }: ReadOptions): ReadAddress {
    const { server, batchOf } = this.#settings;
    const path = (server.override(endpoint) ?? endpoint).toPath(at) + searchOf(query);
    const batch = part ? batchOf(endpoint) : null;
    const run = batch && part ? { ...part, query } : null;
    return {
      endpoint,
      path,
      window: window ?? null,
      part: run && batch?.common(run) != null ? run : null,
      key: `${endpoint.path} ${path}${window ? ` ${JSON.stringify(window)}` : ""}`,
    };
  }

  /** Dispatches a batch after all pending microtasks, when no work is queued for a time slice. */
  #schedule(dispatch: () => void): void {
    const { pacing } = this.#settings;
    // Not `queueMicrotask`: Node makes an async resource for each.
    void Promise.resolve().then(() =>
      process.nextTick(() => {
        if (pacing.isStopped()) return;
        if (pacing.isWaiting()) pacing.onPassed(() => this.#schedule(dispatch));
        else dispatch();
      }),
    );
  }

  /** Starts the reads of a batch, which then settle one by one. */
  #start(reads: readonly Read[]): Promise<readonly Read[]> {
    try {
      this.#startAll(reads);
    } catch (error) {
      for (const read of reads) read.reject(error);
    }
    return Promise.resolve(reads);
  }

  #startAll(reads: readonly Read[]): void {
    const parts: Read[] = [];
    for (const read of reads) {
      if (!read.address.part) this.#settings.send(read, read);
      else if (this.#cache.has(read.address.key)) this.#startSingle(read);
      else parts.push(read);
    }
    const inLists = new Set<Read>();
    for (const group of this.#listsFor(parts)) {
      this.#startList(group);
      for (const { read } of group.members) inLists.add(read);
    }
    for (const read of parts) if (!inLists.has(read)) this.#startSingle(read);
  }

  /** Reads the whole record for a read that needs a part of it. */
  #startSingle(read: Read): void {
    read.resolve(this.#readSingle(read));
  }

  #readSingle(read: Read): Promise<unknown> {
    read.note?.serve("request");
    return this.#readWhole({ ...read.address, part: null }, read).response;
  }

  /** Requests a whole record or list, unless it is cached. */
  #readWhole(address: ReadAddress, demand: Demand): Read {
    const cached = this.#cache.get(address.key);
    if (cached) return cached;
    const read = this.#open(address, address.key);
    this.#settings.send(read, demand);
    return read;
  }

  /** The lists of this server that cover several of these reads, or that are already requested. */
  #listsFor(reads: readonly Read[]): ListGroup[] {
    return groupsOf(reads, this.#settings.batchOf).flatMap(({ batch, members }) => {
      const list = batch.list(
        [members[0].run, ...members.slice(1).map(({ run }) => run)],
        // Safe: a read returns the response of its own endpoint.
        <At, Answer>({ endpoint, at, query, find }: ListRead<At, Answer>) => ({
          address: this.#addressOf(endpoint, at, { query }),
          find: (response: unknown) => find(response as Answer),
        }),
      );
      const isUseful = members.length > 1 || this.#cache.has(list.address.key);
      return isUseful ? [{ batch, list, members }] : [];
    });
  }

  /** Requests one list for several reads. Records that the list does not contain are read one by one. */
  #startList({ batch, list, members }: ListGroup): void {
    const { response, note } = this.#readWhole(list.address, new ListDemand(members));
    for (const { read } of members) read.note?.serve("batch", note);
    const found = response.then(list.find);
    found.catch((error: unknown) => {
      if (batchFaultOf(error) !== "refused") return;
      // The list itself is rejected only if every single read succeeds.
      Promise.all(members.map(({ read }) => this.#readSingle(read))).then(
        () => this.#settings.onRefused(batch),
        () => {},
      );
    });
    for (const { read, run } of members) read.resolve(pick(found, run, () => this.#readSingle(read)));
  }
}

function searchOf(query: Query | undefined): string {
  const search = query ? new URLSearchParams(query).toString() : "";
  return search === "" ? "" : `?${search}`;
}
