import type { IncomingMessage } from "node:http";
import type { Operation } from "../engine/engine.ts";
import { Explanation } from "../observability/explain/explanation.ts";
import type { Telemetry } from "../observability/telemetry.ts";
import { openOperationSpan } from "../observability/tracing.ts";
import { wantsExplanation } from "./identity.ts";
import type { OperationContext, OperationSource } from "./graphql/context.ts";
import type { RequestState } from "./request.ts";

interface Settings {
  readonly openContext: (source: OperationSource) => OperationContext;
  /** Whether callers may ask what an operation costs. */
  readonly isExplainable: boolean;
  readonly telemetry: Telemetry;
}

/** The GraphQL operation of an HTTP request. */
export interface HttpOperation {
  readonly operation: Operation;
  /** Acts within the span of the operation. */
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Reports the operation with the HTTP status of its result, and ends its scope. */
  readonly end: (status: number) => void;
}

/** Opens the operations of HTTP requests: their spans, contexts, explanations and reports. */
export const createOperations =
  ({ openContext, isExplainable, telemetry }: Settings) =>
  (request: IncomingMessage, state: RequestState): HttpOperation => {
    const { scope, began } = state;
    const span = openOperationSpan(request, state);
    const notes = isExplainable && wantsExplanation(request) ? new Explanation(began) : null;
    return {
      operation: {
        scope,
        facts: state,
        openContext: (pacing) => openContext({ request, scope, pacing, onRequest: null, notes }),
        explain: notes && (() => notes.report()),
      },
      run: span.run,
      end: (status) => {
        const { type, name, codes } = state;
        const ms = performance.now() - began;
        span.end(status);
        const { requestId, upstreamRequests } = scope;
        telemetry.operation({ requestId, type, name, codes, upstreamRequests, ms }, request.headers);
        // A request that is rejected before it is run has not ended its scope.
        scope.end("done");
      },
    };
  };
