import type { IncomingMessage } from "node:http";
import type { MemoryReservation } from "../callers/memory-budget.ts";
import { RequestScope } from "../callers/request-scope.ts";
import { rejection } from "../engine/errors.ts";
import type { ExecutionArgs, OperationDetails } from "../engine/engine.ts";
import type { OpenStream } from "../engine/subscription.ts";
import { explainer } from "../observability/explain.ts";
import { openRequestSpan } from "../observability/tracing.ts";
import { OperationTrace } from "../operation-trace.ts";
import type { GatewayDependencies } from "./dependencies.ts";
import { OperationContext } from "./operation-context.ts";

export interface OpenedOperation extends ExecutionArgs {
  readonly run: <Answer>(act: () => Answer) => Answer;
  /** Reports the operation with the HTTP status of its result (null over a WebSocket), and ends its scope. */
  readonly end: (status: number | null) => void;
}

/** Opens the operation of a request: its span, context, explanation and report. */
export function openOperation(
  dependencies: GatewayDependencies,
  request: IncomingMessage,
  scope: RequestScope,
): OpenedOperation {
  const { headers } = request;
  const details: OperationDetails = { type: "invalid", name: null, hash: null, codes: [], failed: [] };
  const span = openRequestSpan("GraphQL Operation", headers, scope);
  const isDryRun = wantsDryRun(dependencies, request);
  const isExplained = isDryRun || (dependencies.isExplainable && headers["x-rungraph-explain"] === "1");
  const mayBeStale = dependencies.shared.reads.settings.staleMs > 0;
  const operationTrace = isExplained || mayBeStale ? new OperationTrace(isExplained) : null;
  return {
    scope,
    details,
    dryRun: isDryRun ? { hasRequests: () => operationTrace?.hasRequests() ?? false } : null,
    openContext: (progress) => {
      // Queries of an unverified caller can be preempted, but mutations cannot. Mutations of unverified callers therefore need a permit of
      // another kind.
      if (details.type === "mutation") {
        if (scope.caller.verification !== "verified") dependencies.admission.mutation.acquire(scope);
        scope.forbidPreemption();
      }
      if (operationTrace) operationTrace.chargeMemory = (bytes) => progress.chargeMemory(bytes);
      return new OperationContext(dependencies, { request, scope, progress, isDryRun, operationTrace });
    },
    extensions: operationTrace && explainer(operationTrace, scope.began),
    run: span.run,
    end: (status) => {
      dependencies.telemetry.operation({ scope, span, headers }, details, status);
      scope.end("completed");
    },
  };
}

const wantsDryRun = ({ isExplainable }: GatewayDependencies, { headers }: IncomingMessage): boolean =>
  isExplainable && headers["x-rungraph-explain"] === "plan";

const NO_DRY_RUN = rejection(
  "x-rungraph-explain: plan: expected a query or mutation, got a subscription",
  "BAD_REQUEST",
);

/** Opens the stream of a subscription. Transfers the permit and the memory reservation of the request to the stream. */
export function openStream(
  dependencies: GatewayDependencies,
  request: IncomingMessage,
  requestScope: RequestScope,
  reservation: MemoryReservation | null,
): OpenStream {
  if (wantsDryRun(dependencies, request)) throw NO_DRY_RUN;
  const { caller } = requestScope;
  dependencies.admission.stream.acquire(requestScope);
  // The scope of the stream has no deadline: only the end of the stream ends it.
  const scope = new RequestScope(requestScope, Number.POSITIVE_INFINITY);
  requestScope.transferPermit(scope);
  reservation?.transferTo(scope);
  const onRequest = () => dependencies.live.recordSent(caller);
  return {
    scope,
    context: Object.assign(new OperationContext(dependencies, { request, scope: requestScope }), {
      live: dependencies.live.of(caller),
    }),
    openEvent: () => {
      const event = new RequestScope(scope, dependencies.config.REQUEST_TIMEOUT_MS);
      return {
        scope: event,
        openContext: (progress) =>
          new OperationContext(dependencies, { request, scope: event, progress, onRequest }),
      };
    },
  };
}
