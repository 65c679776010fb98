import { pause, type RequestScope } from "../../request-scope.ts";
import type { OperationQueue } from "./admission.ts";
import { Attempt, type AttemptSettings, type Outcome, type Send } from "./attempt.ts";
import type { Breaker } from "./breaker.ts";
import type { Demand, Ticket } from "./bulkhead.ts";
import type { Held } from "./held.ts";
import type { RequestHeaders, UpstreamRequest } from "./request.ts";
import { isThrottled } from "./retry.ts";

/** What the upstream requests of one scope share. */
export interface Operation {
  readonly scope: RequestScope;
  readonly headers: RequestHeaders;
  readonly queue: OperationQueue;
  readonly held: Held;
}

interface CallSettings extends AttemptSettings {
  readonly breaker: Breaker;
}

const ONE_POSITION: Demand = { positions: 1 };

/**
 * One request of an operation: it waits for its turn, is sent, and is retried when that can help. Callbacks instead of
 * promises: an operation makes hundreds of requests, and each would need a promise for every step here.
 */
export class Call<Part> implements Ticket, Outcome<Part> {
  readonly request: UpstreamRequest<unknown>;
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
    this.#operation = operation;
    this.#settings = settings;
    this.#send = send;
    this.#outcome = outcome;
    operation.queue.enter(this);
  }

  get endpoint() {
    return this.request.endpoint;
  }

  get demand(): Demand {
    return this.request.demand ?? ONE_POSITION;
  }

  get isRetry(): boolean {
    return this.#attempts > 0;
  }

  get queue(): OperationQueue {
    return this.#operation.queue;
  }

  admitted(): void {
    const { scope, headers, held } = this.#operation;
    this.#attempts++;
    let attempt: Attempt<Part>;
    try {
      held.check();
      attempt = new Attempt(this.#settings, this.request, scope, this, held);
    } catch (error) {
      this.failed(error);
      return;
    }
    attempt.send(headers, this.#send);
  }

  probe(resume: () => void): void {
    this.#settings.breaker.wait({ request: this.request, scope: this.#operation.scope }, resume);
  }

  rejected(error: Error): void {
    this.#outcome.failed(error);
  }

  succeeded(part: Part, bytes: number): void {
    this.queue.leave();
    this.#outcome.succeeded(part, bytes);
  }

  failed(error: unknown): void {
    this.queue.leave();
    if (isThrottled(error)) this.#throttled++;
    const { scope } = this.#operation;
    const tried = { attempts: this.#attempts, throttled: this.#throttled };
    const isRead = this.endpoint.method === "GET";
    const pauseMs = isRead ? this.#settings.retries.pauseAfter(error, tried, scope) : null;
    if (pauseMs === null) this.#outcome.failed(error);
    else pause(pauseMs, scope, () => this.queue.enter(this));
  }
}
