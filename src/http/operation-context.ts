import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestScope } from "../callers/request-scope.ts";
import type { ResponsePath } from "../engine/field-extensions.ts";
import type { Context, GatewayDetails } from "../graphql/core/context.ts";
import type { CooperativeTask } from "../util/cooperative-task.ts";
import type { OperationTrace } from "../operation-trace.ts";
import type { Server } from "../rest/api/server.ts";
import { type OperationProgress, UNTRACKED } from "../rest/session/batch-loader.ts";
import { openSession, type Session, sessionFor } from "../rest/session/session.ts";
import type { GatewayDependencies } from "./dependencies.ts";
import { isNoCache } from "./identity.ts";

interface OperationSource {
  readonly request: IncomingMessage;
  readonly scope: RequestScope;
  readonly progress?: OperationProgress;
  readonly onRequest?: () => void;
  /** Set for a dry run, which sends nothing upstream. */
  readonly isDryRun?: boolean;
  /** The trace of the operation; null if the result cannot have `extensions.explain` or `extensions.stale`. */
  readonly operationTrace?: OperationTrace | null;
}

interface OperationState {
  session: Session | null;
  /** Results of `once`, by key. */
  readonly reads: Map<string, Promise<unknown>>;
  /** Results of `memoized`, by source and arguments. */
  readonly computed: Map<object, Map<string, Promise<unknown>>>;
  /** The last long computation that was queued; never rejects. */
  work: Promise<unknown>;
}

const keys = new WeakMap<object, string>();

/**
 * A short key for an argument. Objects are hashed, because a list of names may be as long as the request and may be passed to many fields.
 */
function keyOf(arg: unknown): string {
  if (typeof arg !== "object" || arg === null) return JSON.stringify([arg]);
  const key = keys.get(arg) ?? hash("sha256", JSON.stringify(arg), "base64url");
  keys.set(arg, key);
  return key;
}

/**
 * The context of one operation. If the operation has a trace, each response path has its own context. The context is a class, because V8
 * gives each object literal with getters its own hidden class, which lives until the next full garbage collection and keeps all records of
 * the operation in memory.
 */
export class OperationContext implements Context {
  readonly gateway: GatewayDetails;
  readonly server: Server;
  readonly lookAhead: boolean;
  readonly onFree: Context["onFree"];
  readonly onScan: Context["onScan"];
  readonly path: ResponsePath | null;
  readonly at: Context["at"];
  readonly #dependencies: GatewayDependencies;
  readonly #source: OperationSource;
  readonly #state: OperationState;

  constructor(
    dependencies: GatewayDependencies,
    source: OperationSource,
    path: ResponsePath | null = null,
    state: OperationState = { session: null, reads: new Map(), computed: new Map(), work: Promise.resolve() },
  ) {
    const { operationTrace = null } = source;
    this.gateway = dependencies.details;
    this.server = dependencies.shared.server;
    this.lookAhead = dependencies.lookAhead;
    this.onFree = operationTrace?.isExplained && path ? () => operationTrace.addFree(path) : null;
    this.onScan =
      operationTrace &&
      path &&
      ((compared, rows) => operationTrace.add(null, { kind: "scan", path, compared, rows }));
    this.path = path;
    this.at = operationTrace && ((below) => new OperationContext(dependencies, source, below, state));
    this.#dependencies = dependencies;
    this.#source = source;
    this.#state = state;
  }

  /** The session, which is opened on first use, because many operations read nothing. */
  get session(): Session {
    const session = (this.#state.session ??= this.#openSession());
    const { operationTrace } = this.#source;
    return operationTrace && this.path ? sessionFor(session, operationTrace.forPath(this.path)) : session;
  }

  get publicUrl(): string {
    const { socket, headers } = this.#source.request;
    const scheme = "encrypted" in socket ? "https" : "http";
    const { publicUrl, prefix } = this.#dependencies;
    return publicUrl ?? new URL(`${scheme}://${headers.host ?? "localhost"}`).origin + prefix;
  }

  once<Result>(key: string, read: () => Promise<Result>): Promise<Result> {
    // Safe: reads with one key have the same result type.
    const result = (this.#state.reads.get(key) as Promise<Result> | undefined) ?? read();
    this.#state.reads.set(key, result);
    return result;
  }

  memoized<Result>(
    source: object,
    args: readonly unknown[],
    createTask: () => CooperativeTask<Result>,
  ): Promise<Result> {
    const computed = this.#state.computed.get(source) ?? new Map<string, Promise<unknown>>();
    this.#state.computed.set(source, computed);
    const key = args.map(keyOf).join();
    // Safe: computations for one source with equal arguments have the same result type.
    const result = (computed.get(key) as Promise<Result> | undefined) ?? this.runCooperatively(createTask());
    computed.set(key, result);
    return result;
  }

  runCooperatively<Result>(task: CooperativeTask<Result>): Promise<Result> {
    const { scope, progress = UNTRACKED } = this.#source;
    const onStep = (bytes: number | undefined): boolean => {
      if (bytes) progress.chargeMemory(bytes);
      return !progress.isStopped;
    };
    const begin = (): Promise<Result> =>
      new Promise((resolve, reject) =>
        this.#dependencies.scheduler.runCooperatively(scope.caller, () => task, resolve, reject, onStep),
      );
    // Computations run one after the other, because many unfinished results take more memory than finished ones.
    const work = this.#state.work.then(begin);
    this.#state.work = work.catch(() => {});
    return work;
  }

  #openSession(): Session {
    const { request, scope, progress = UNTRACKED, onRequest, isDryRun, operationTrace = null } = this.#source;
    const { config } = this.#dependencies;
    const { client, shared } = isDryRun ? this.#dependencies.dryRun : this.#dependencies;
    const bypassesCache = isNoCache(request);
    const { MAX_UPSTREAM_WIDTH: concurrency, MAX_UPSTREAM_REQUESTS: requests } = config;
    const bounds = { concurrency, requests, isBackground: false, ...(onRequest && { onRequest }) };
    return openSession(client, scope, { shared, bounds, bypassesCache, progress, operationTrace });
  }
}
