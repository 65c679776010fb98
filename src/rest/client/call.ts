import type { RequestScope } from "../../request-scope.ts";
import type { Caller } from "../../caller.ts";
import type { Allowance, Ticket } from "./allowance.ts";
import type { OperationQueue } from "./operation-queue.ts";
import { Attempt, type AttemptSettings, type Outcome, type Send } from "./attempt.ts";
import type { Breaker } from "./breaker.ts";
import type { Demand } from "../../bulkhead.ts";
import type { Held } from "../../held.ts";
import type { RequestHeaders, UpstreamRequest } from "./request.ts";
import { isThrottled, throttledMs } from "./retry.ts";

/** What the upstream requests of one scope share. */
export interface Operation {
  readonly scope: RequestScope;
  readonly headers: RequestHeaders;
  readonly queue: OperationQueue;
  readonly held: Held;
  readonly allowance: Allowance;
}

interface CallSettings extends AttemptSettings {
  /** The allowance of a token of the caller: its own, or one that it has signed in with. */
  readonly allowanceOf: (token: string, caller: Caller) => Allowance;
  readonly breaker: Breaker;
}

const ONE_POSITION: Demand = { positions: 1 };

/**
 * One request of an operation: it waits for its turn, is sent, and is retried when that can help. Callbacks instead of
 * promises: an operation makes hundreds of requests, and each would need a promise for every step here.
 */
export class Call<Part> implements Ticket, Outcome<Part> {
  readonly request: UpstreamRequest<unknown>;
  readonly endpoint: UpstreamRequest<unknown>["endpoint"];
  readonly demand: Demand;
  readonly isPatient: boolean;
  readonly queue: OperationQueue;
  readonly allowance: Allowance | null;
  isRetry = false;
  readonly #operation: Operation;
  readonly #settings: CallSettings;
  readonly #send: Send<Part>;
  readonly #outcome: Outcome<Part>;
  #attempts = 0;
  #throttled = 0;

  constructor(
    settings: CallSettings,
    operation: Operation,
    request: UpstreamRequest<unknown>,
    send: Send<Part>,
    outcome: Outcome<Part>,
  ) {
    this.request = request;
    this.endpoint = request.endpoint;
    this.demand = request.demand ?? ONE_POSITION;
    this.isPatient = request.isPatient ?? true;
    this.queue = operation.queue;
    this.#operation = operation;
    this.#settings = settings;
    this.#send = send;
    this.#outcome = outcome;
    const { scope, allowance } = operation;
    const { token = scope.token } = request;
    if (token === scope.token) this.allowance = allowance;
    else this.allowance = token === null ? null : settings.allowanceOf(token, scope.caller);
    this.#enter();
  }

  admitted(): void {
    const { scope, headers, held } = this.#operation;
    this.#attempts++;
    this.isRetry = true;
    let attempt: Attempt<Part>;
    try {
      held.check();
      attempt = new Attempt(this.#settings, this.request, scope, this, held);
    } catch (error) {
      // It was not sent, and another attempt would not be.
      this.allowance?.giveBack();
      this.queue.leave();
      this.#outcome.failed(error);
      return;
    }
    this.allowance?.send();
    attempt.send(headers, this.#send);
  }

  probe(resume: () => void): void {
    this.#settings.breaker.wait({ request: this.request, scope: this.#operation.scope }, resume);
  }

  rejected(error: Error): void {
    this.#outcome.failed(error);
  }

  succeeded(part: Part, bytes: number): void {
    this.allowance?.end(null);
    this.queue.leave();
    this.#outcome.succeeded(part, bytes);
  }

  failed(error: unknown): void {
    this.allowance?.end(throttledMs(error));
    this.queue.leave();
    if (isThrottled(error)) this.#throttled++;
    const { scope } = this.#operation;
    const tried = { attempts: this.#attempts, throttled: this.#throttled };
    const isRead = this.endpoint.method === "GET";
    const pauseMs = isRead ? this.#settings.retries.pauseAfter(error, tried, scope) : null;
    if (pauseMs === null) this.#outcome.failed(error);
    else if (pauseMs === 0) this.#enter();
    else pause(pauseMs, scope, () => this.#enter());
  }

  #enter(): void {
    this.request.note?.wait();
    this.queue.enter(this);
  }
}

/** Calls back after a pause, or as soon as the scope ends. */
function pause(ms: number, scope: RequestScope, callback: () => void): void {
  const finish = () => {
    clearTimeout(timer);
    scope.offEnd(finish);
    callback();
  };
  const timer = setTimeout(finish, ms);
  scope.onEnd(finish);
}
