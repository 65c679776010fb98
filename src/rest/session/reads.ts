import { isForNow, isOwnFault } from "../../errors.ts";
import type { Note } from "../../journal.ts";
import type { Client } from "../client/client.ts";
import { endedError } from "../client/failure.ts";
import type { Requester } from "../client/order.ts";
import type { UpstreamRequest } from "../client/request.ts";
import { Entry, type ReadTarget } from "./entry.ts";
import type { LargePages } from "./large-pages.ts";
import type { CallerReads } from "./shared-reads.ts";

export interface Reader {
  readonly client: Pick<Client, "json" | "part" | "queue" | "upstreamTime">;
  readonly requester: Requester;
  readonly token: string | null;
  /** What it shares with other operations of the caller; null when it shares nothing. */
  readonly shared: CallerReads | null;
  /** Whether it uses nothing that was requested before. Others do not wait for its requests, which may yield to them. */
  readonly isFresh: boolean;
  readonly largePages: LargePages;
  /** The reads that it has started. They are left when it ends. */
  readonly started: Read[];
}

/** A response that an operation waits for: the positions of its result that want it, and where it comes from. */
export class Read {
  readonly target: ReadTarget;
  readonly requester: Requester;
  readonly response: Promise<unknown>;
  resolve!: (response: unknown) => void;
  reject!: (error: unknown) => void;
  /** Number of positions in the result that wait for it. Reads with more positions are requested first. */
  positions = 0;
  /** Null without a journal. */
  note: Note | null = null;
  /** What answers it; null before it is started and after it has failed. */
  entry: Entry | null = null;
  /** The list whose response will answer it; null without one. */
  #list: Read | null = null;
  readonly #reader: Reader;

  constructor(target: ReadTarget, reader: Reader) {
    this.target = target;
    this.requester = reader.requester;
    this.#reader = reader;
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Adds positions that wait for it, and so for what will answer it. */
  addPositions(count: number): void {
    this.positions += count;
    if (this.entry) this.entry.positions += count;
    this.#list?.addPositions(count);
  }

  /** Records that its response will answer another read. */
  answers(read: Read): void {
    if (this.entry?.isAnswered) return;
    read.#list = this;
    this.addPositions(read.positions);
  }

  /** Takes the kept response of an equal read, waits for one that is in flight, or sends the request. */
  start(): void {
    const { shared, started, isFresh } = this.#reader;
    const { target, requester } = this;
    if (requester.life.ended) return this.end(false);
    started.push(this);
    const equal = isFresh ? undefined : shared?.find(target.key);
    if (equal) {
      shared?.settings.onShared(equal.isAnswered ? "kept" : "in flight");
      this.note?.add({ kind: "served", by: equal.isAnswered ? "cache" : "joined", list: null });
      return equal.join(this);
    }
    const entry = new Entry(this, !isFresh, shared?.settings.now() ?? 0);
    shared?.add(entry);
    this.note?.add({ kind: "wait" });
    this.#reader.client.queue(entry, requester);
  }

  /** Called when its operation ends: it stops waiting, and holds no response. */
  leave(): void {
    this.note = null;
    this.entry?.leave(this);
  }

  end(wasSent: boolean): void {
    this.reject(endedError(this.target.offered, this.requester.life, wasSent));
  }

  /** Takes the last known response if the service gives none for now; otherwise fails. */
  fail(error: unknown): void {
    this.entry = null;
    const { shared } = this.#reader;
    const stale = isForNow(error) ? this.findStale() : undefined;
    if (!shared || !stale) return this.reject(error);
    shared.settings.onShared("stale");
    this.note?.add({ kind: "stale", ageMs: shared.settings.now() - stale.began });
    stale.join(this);
  }

  /** An earlier response that may answer while the service gives none: the result must tell that. */
  findStale(): Entry | undefined {
    const { isFresh, shared } = this.#reader;
    return isFresh || this.requester.life.ended || !this.note
      ? undefined
      : shared?.findStale(this.target.key);
  }

  get request(): UpstreamRequest<unknown> {
    const { offered: endpoint, path } = this.target;
    return { endpoint, path, token: this.#reader.token, note: this.note };
  }

  async send(entry: Entry, isConnected: boolean): Promise<void> {
    const { client, shared } = this.#reader;
    const { window } = entry.target;
    try {
      const value = await (window
        ? client.part(entry.order, isConnected, window)
        : client.json(entry.order, isConnected));
      if (entry.ended) shared?.remove(entry, true);
      else shared?.keep(entry, value);
      entry.succeed(value);
    } catch (error) {
      shared?.remove(entry, isOwnFault(error) || isForNow(error));
      shared?.endAfter(error);
      entry.fail(error);
    }
  }
}
