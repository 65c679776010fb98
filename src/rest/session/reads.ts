import { mayServeStale, isCallerSide } from "../../errors.ts";
import type { TraceEntry } from "../../operation-trace.ts";
import type { Client } from "../client/client.ts";
import { endedError } from "../client/failure.ts";
import type { Requester } from "../client/upstream-call.ts";
import type { UpstreamRequest } from "../client/request.ts";
import { SharedRead, type ReadTarget } from "./shared-read.ts";
import type { LargePages } from "./large-pages.ts";
import type { CallerReadCache } from "./read-cache.ts";

export interface ReadContext {
  readonly client: Pick<Client, "command" | "enqueue" | "cancel" | "read" | "readChunk" | "upstreamTime">;
  readonly requester: Requester;
  readonly token: string | null;
  /** The read cache of the caller; null if the operation shares nothing. */
  readonly shared: CallerReadCache | null;
  /** Whether it ignores earlier requests (`no-cache`). Others do not share its requests, which may have low priority. */
  readonly bypassesCache: boolean;
  readonly largePages: LargePages;
  /** The reads that it has started, which unsubscribe when it ends. */
  readonly started: Read[];
}

/** A read of one operation, for one or more positions of its result. */
export class Read {
  readonly target: ReadTarget;
  readonly requester: Requester;
  readonly response: Promise<unknown>;
  resolve!: (response: unknown) => void;
  reject!: (error: unknown) => void;
  /** Number of positions in the result that wait for it. */
  priority = 0;
  /** Null without an operation trace. */
  traceEntry: TraceEntry | null = null;
  /** The shared read that answers it; null before the start and after a failure. */
  sharedRead: SharedRead | null = null;
  /** The list request whose response will answer it; null without one. */
  #list: Read | null = null;
  readonly #context: ReadContext;

  constructor(target: ReadTarget, context: ReadContext) {
    this.target = target;
    this.requester = context.requester;
    this.#context = context;
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Raises the priority, also that of the request that will answer it. */
  addPriority(count: number): void {
    this.priority += count;
    if (this.sharedRead) this.sharedRead.priority += count;
    this.#list?.addPriority(count);
  }

  /** Records that its response will answer another read. */
  answers(read: Read): void {
    if (this.sharedRead?.isAnswered) return;
    read.#list = this;
    this.addPriority(read.priority);
  }

  /** Uses the cached response of an equal read, shares one in flight, or sends the request. */
  start(): void {
    const { shared, started, bypassesCache } = this.#context;
    const { target, requester } = this;
    if (requester.lifetime.ended) return this.end(false);
    started.push(this);
    const equal = bypassesCache ? undefined : shared?.find(target.key);
    if (equal) {
      shared?.settings.onShared(equal.isAnswered ? "kept" : "in flight");
      this.traceEntry?.add({ kind: "served", by: equal.isAnswered ? "cache" : "joined", list: null });
      return equal.join(this);
    }
    const sharedRead = new SharedRead(this, !bypassesCache, shared?.settings.now() ?? 0);
    shared?.add(sharedRead);
    this.traceEntry?.add({ kind: "wait" });
    this.#context.client.enqueue(sharedRead);
  }

  /** Called at the end of its operation: unsubscribes and releases the response. */
  leave(): void {
    this.traceEntry = null;
    this.sharedRead?.leave(this);
  }

  end(wasSent: boolean): void {
    this.reject(endedError(this.target.supported, this.requester.lifetime, wasSent));
  }

  /** Serves a stale response after a transient error; otherwise rejects. */
  fail(error: unknown): void {
    this.sharedRead = null;
    const { shared } = this.#context;
    const stale = mayServeStale(error) ? this.findStale() : undefined;
    if (!shared || !stale) return this.reject(error);
    shared.settings.onShared("stale");
    this.traceEntry?.add({ kind: "stale", ageMs: shared.settings.now() - stale.began });
    stale.join(this);
  }

  /** A stale response that may be served. Only with a trace entry, by which the result reports it. */
  findStale(): SharedRead | undefined {
    const { bypassesCache, shared } = this.#context;
    return bypassesCache || this.requester.lifetime.ended || !this.traceEntry
      ? undefined
      : shared?.findStale(this.target.key);
  }

  get request(): UpstreamRequest<unknown> {
    const { supported: endpoint, path } = this.target;
    return { endpoint, path, token: this.#context.token, traceEntry: this.traceEntry };
  }

  /** Sends a shared read that is admitted. */
  async send(sharedRead: SharedRead): Promise<void> {
    const { client, shared } = this.#context;
    const { window } = sharedRead.target;
    try {
      const value = await (window ? client.readChunk(sharedRead, window) : client.read(sharedRead));
      if (sharedRead.ended) shared?.remove(sharedRead, true);
      else shared?.keep(sharedRead, value);
      sharedRead.succeed(value);
    } catch (error) {
      this.refuse(sharedRead, error);
    }
  }

  /** Fails a shared read, sent or not. */
  refuse(sharedRead: SharedRead, error: unknown): void {
    const { shared } = this.#context;
    shared?.remove(sharedRead, isCallerSide(error) || mayServeStale(error));
    shared?.endAfter(error);
    sharedRead.fail(error);
  }

  cancel(sharedRead: SharedRead): void {
    this.#context.client.cancel(sharedRead);
  }
}
