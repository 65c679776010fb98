import type { Held } from "../../held.ts";
import { UpstreamError } from "../../errors.ts";
import type { Line } from "../../line.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Waiter } from "./order.ts";
import type { Pacer } from "./pacer.ts";
import type { RequestHeaders } from "./request.ts";

export interface OperationBounds {
  /** Maximum upstream requests at a time. */
  readonly width: number;
  /** Maximum upstream requests in total. Retries do not count. */
  readonly requests: number;
  /** Whether it leaves the pace of the token to others that may need it. */
  readonly yields: boolean;
  /** Called for each request, those above the maximum included. */
  readonly onRequest?: () => void;
}

interface OperationParts {
  readonly scope: RequestScope;
  readonly headers: RequestHeaders;
  readonly held: Held;
  /** Where its requests wait for a connection. */
  readonly line: Line<Waiter>;
  readonly pacer: Pacer;
  readonly bounds: OperationBounds;
  /** Does work when it is the caller's turn: parsing a long response blocks the event loop. */
  readonly takeTurn: (work: () => void) => void;
}

/** What the upstream requests of one operation have in common. */
export class Operation implements Readonly<Omit<OperationParts, "bounds">> {
  readonly scope: RequestScope;
  readonly headers: RequestHeaders;
  readonly held: Held;
  readonly line: Line<Waiter>;
  readonly pacer: Pacer;
  readonly takeTurn: OperationParts["takeTurn"];
  readonly yields: boolean;
  readonly #bounds: OperationBounds;
  #requests = 0;
  #exceeded: UpstreamError | null = null;

  constructor({ scope, headers, held, line, pacer, bounds, takeTurn }: OperationParts) {
    this.scope = scope;
    this.headers = headers;
    this.held = held;
    this.line = line;
    this.pacer = pacer;
    this.takeTurn = takeTurn;
    this.yields = bounds.yields;
    this.#bounds = bounds;
  }

  /** Whether it has asked for anything. */
  get hasBegun(): boolean {
    return this.#requests > 0;
  }

  /** Counts a request. Throws `UpstreamError` above the limit: one error for all, which tells their final number. */
  charge(): void {
    const { requests, onRequest } = this.#bounds;
    onRequest?.();
    if (++this.#requests <= requests) return;
    const unsent = () => this.#requests - requests;
    throw (this.#exceeded ??= new UpstreamError(
      "REQUEST_LIMIT_EXCEEDED",
      `This operation needs more than ${requests} requests to the service; ask for less at once.`,
      {
        get unsentRequests() {
          return unsent();
        },
      },
    ));
  }
}
