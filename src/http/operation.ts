import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { GraphQLError, GraphQLSchema } from "graphql";
import type { Engine, Execution, OperationFacts } from "../engine/engine.ts";
import type { Config } from "../config.ts";
import { Journal } from "../journal.ts";
import { explainer } from "../observability/explain.ts";
import type { Held, HeldBytes } from "../held.ts";
import type { Telemetry } from "../observability/telemetry.ts";
import { openRequestSpan } from "../observability/tracing.ts";
import type { OpenStream } from "../engine/subscription.ts";
import type { Clock } from "../clock.ts";
import type { createLive } from "../live/live.ts";
import type { Client } from "../rest/client/client.ts";
import { type Identify, wantsFresh } from "./identity.ts";
import type { Origins } from "./target.ts";
import { RequestScope } from "../request-scope.ts";
import type { ResultPlace } from "../engine/field-source.ts";
import { isSliceOver, type Turns } from "../engine/turns.ts";
import type { Context, GatewayFacts, Steps } from "../graphql/core/context.ts";
import { type Pacing, UNPACED } from "../rest/session/batches.ts";
import { openSession, type Session, sessionFor, type SharedSettings } from "../rest/session/session.ts";
import type { Server } from "../rest/api/server.ts";
import type { Delivery } from "./delivery.ts";
import type { Doors } from "./doors.ts";

/** What all that answers requests shares. */
export interface Parts {
  readonly config: Config;
  readonly clock: Clock;
  /** The schema with the served names of types. */
  readonly schema: GraphQLSchema;
  readonly rename: (text: string) => string;
  readonly engine: Engine;
  readonly client: Client;
  readonly shared: SharedSettings;
  readonly facts: GatewayFacts;
  readonly live: ReturnType<typeof createLive>;
  readonly lookAhead: boolean;
  /** The gateway's URL for callers; undefined: that of the request. */
  readonly publicUrl: string | undefined;
  /** Path below which callers reach the gateway, where `publicUrl` is not given. */
  readonly prefix: string;
  /** Origins whose pages may call the gateway, besides its own. */
  readonly origins: Origins;
  readonly identify: Identify;
  readonly doors: Doors;
  readonly heldBytes: HeldBytes;
  readonly delivery: Delivery;
  readonly telemetry: Telemetry;
  /** Whether callers may ask what an operation costs. */
  readonly isExplainable: boolean;
  readonly takeTurn: Turns["take"];
  /** Converts any error to the one that callers see. */
  readonly publicError: (error: unknown) => GraphQLError;
  /** Receives what made a request fail unexpectedly. */
  readonly onError: (error: unknown) => void;
}

/** The GraphQL operation of a request. */
export interface OpenedOperation extends Execution {
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Reports the operation with the HTTP status of its result, null by WebSocket, and ends its scope. */
  readonly end: (status: number | null) => void;
}

/** Opens the operation of a request: its span, context, explanation and report. */
export function openOperation(parts: Parts, request: IncomingMessage, scope: RequestScope): OpenedOperation {
  const { headers } = request;
  const facts: OperationFacts = { type: "invalid", name: null, hash: null, codes: [], failed: [] };
  const span = openRequestSpan("GraphQL Operation", headers, scope);
  const isExplained = parts.isExplainable && headers["x-rungraph-explain"] === "1";
  const mayBeStale = parts.shared.reads.settings.staleMs > 0;
  const journal = isExplained || mayBeStale ? new Journal() : null;
  return {
    scope,
    facts,
    openContext: (pacing) => {
      // What a stranger asks for gives way to others, but not what it commands: that has a place of its own.
      if (facts.type === "mutation") {
        if (scope.caller.standing !== "proven") parts.doors.mutation.admit(scope);
        scope.keepPlace();
      }
      return new OperationContext(parts, { request, scope, pacing, journal });
    },
    extensions: journal && explainer(journal, scope.began, isExplained),
    run: span.run,
    end: (status) => {
      parts.telemetry.operation({ scope, span, headers }, facts, status);
      // A request that is rejected before it is run has not ended its scope.
      scope.end("done");
    },
  };
}

interface OperationSource {
  readonly request: IncomingMessage;
  readonly scope: RequestScope;
  readonly pacing?: Pacing;
  readonly onRequest?: () => void;
  /** Where the result tells how it came about. */
  readonly journal?: Journal | null;
}

interface OperationState {
  session: Session | null;
  /** What `once` has made, by its source. */
  readonly made: Map<object, Map<string, Promise<unknown>>>;
  /** The last of the long work; never rejects. */
  work: Promise<unknown>;
}

const keys = new WeakMap<object, string>();

/** An argument as a short text: a list of names may be as long as a request, and the argument of many fields. */
function keyOf(arg: unknown): string {
  if (typeof arg !== "object" || arg === null) return JSON.stringify([arg]);
  const key = keys.get(arg) ?? hash("sha256", JSON.stringify(arg), "base64url");
  keys.set(arg, key);
  return key;
}

/**
 * The context of one operation; with a journal, at one place of its result. A class, because the getters of an object literal
 * would give each object a hidden class of its own, which lives until the next full garbage collection, and with it all that
 * the operation has read.
 */
export class OperationContext implements Context {
  readonly gateway: GatewayFacts;
  readonly server: Server;
  readonly lookAhead: boolean;
  readonly onFree: Context["onFree"];
  readonly onScan: Context["onScan"];
  readonly place: ResultPlace | null;
  readonly at: Context["at"];
  readonly #parts: Parts;
  readonly #source: OperationSource;
  readonly #state: OperationState;

  constructor(
    parts: Parts,
    source: OperationSource,
    place: ResultPlace | null = null,
    state: OperationState = { session: null, made: new Map(), work: Promise.resolve() },
  ) {
    const { journal = null } = source;
    this.gateway = parts.facts;
    this.server = parts.shared.server;
    this.lookAhead = parts.lookAhead;
    this.onFree = journal && place && (() => journal.add(null, { kind: "free", place }));
    this.onScan =
      journal && place && ((compared, rows) => journal.add(null, { kind: "scan", place, compared, rows }));
    this.place = place;
    this.at = journal && ((below) => new OperationContext(parts, source, below, state));
    this.#parts = parts;
    this.#source = source;
    this.#state = state;
  }

  /** Opened on first use: many operations read nothing. */
  get session(): Session {
    const session = (this.#state.session ??= this.#openSession());
    const { journal } = this.#source;
    return journal && this.place ? sessionFor(session, journal.forPlace(this.place)) : session;
  }

  get publicUrl(): string {
    const { socket, headers } = this.#source.request;
    const scheme = "encrypted" in socket ? "https" : "http";
    const { publicUrl, prefix } = this.#parts;
    return publicUrl ?? new URL(`${scheme}://${headers.host ?? "localhost"}`).origin + prefix;
  }

  once<Result>(source: object, args: readonly unknown[], steps: () => Steps<Result>): Promise<Result> {
    const made = this.#state.made.get(source) ?? new Map<string, Promise<unknown>>();
    this.#state.made.set(source, made);
    const key = args.map(keyOf).join();
    // Safe: work of one source with equal arguments has one type of result.
    const result = (made.get(key) as Promise<Result> | undefined) ?? this.inTurns(steps());
    made.set(key, result);
    return result;
  }

  inTurns<Result>(steps: Steps<Result>): Promise<Result> {
    const { scope, pacing = UNPACED } = this.#source;
    const begin = (resolve: (result: Result) => void, reject: (error: unknown) => void): void => {
      const advance = (): void => {
        try {
          do {
            if (pacing.isStopped) return;
            const step = steps.next();
            if (step.done) return resolve(step.value);
            if (step.value) pacing.hold(step.value);
          } while (!isSliceOver());
          this.#parts.takeTurn(scope.caller, advance);
        } catch (error) {
          reject(error);
        }
      };
      this.#parts.takeTurn(scope.caller, advance);
    };
    // One after the other: what is half made of many takes more memory than what is made.
    const work = this.#state.work.then(() => new Promise(begin));
    this.#state.work = work.catch(() => {});
    return work;
  }

  #openSession(): Session {
    const { request, scope, pacing = UNPACED, onRequest, journal = null } = this.#source;
    const { client, shared, config } = this.#parts;
    const isFresh = wantsFresh(request);
    const { MAX_UPSTREAM_WIDTH: width, MAX_UPSTREAM_REQUESTS: requests } = config;
    const bounds = { width, requests, yields: false, ...(onRequest && { onRequest }) };
    return openSession(client, scope, { shared, bounds, isFresh, pacing, journal });
  }
}

/** Opens the stream of a subscription for which `asking` asks: the scope of the request that it came with, and what that holds. */
export function openStream(
  parts: Parts,
  request: IncomingMessage,
  asking: RequestScope,
  held: Held | null,
): OpenStream {
  const { caller } = asking;
  parts.doors.stream.admit(asking);
  // Only the end of the stream ends its scope.
  const scope = new RequestScope(asking, Number.POSITIVE_INFINITY);
  asking.passOn(scope);
  held?.passTo(scope);
  const onRequest = () => parts.live.recordSent(caller);
  return {
    scope,
    context: Object.assign(new OperationContext(parts, { request, scope: asking }), {
      live: parts.live.of(caller),
    }),
    openEvent: () => {
      const event = new RequestScope(scope, parts.config.REQUEST_TIMEOUT_MS);
      return {
        scope: event,
        openContext: (pacing) => new OperationContext(parts, { request, scope: event, pacing, onRequest }),
      };
    },
  };
}
