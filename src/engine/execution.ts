import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { Cancelled } from "../errors.ts";
import type { Held, HeldBytes } from "../held.ts";
import type { RequestScope } from "../request-scope.ts";
import { tooLarge, withExtensions } from "./errors.ts";
import type { PlacedContext, Variables } from "./field-source.ts";
import { type Fragments, sizeOfSelection } from "./limits/selection.ts";
import { Meter } from "./meter.ts";
import type { Pieces } from "./plan/pieces.ts";
import type { Plan } from "./plan/plan.ts";
import type { RunBehavior } from "./plan/types.ts";
import type { Turns } from "./turns.ts";

export interface ExecutionLimits {
  /** Maximum fields that an operation selects, with its fragments expanded. */
  readonly selected: number;
  /** Maximum fields and list items of its result. */
  readonly fields: number;
  /** Maximum bytes of its result. */
  readonly bytes: number;
}

/** A result of which parts may be delivered later. */
export type ExecutedResult = ExecutionResult & { readonly pieces?: Pieces };

/** Maximum errors of one result: one per item of the longest page. Each costs as much as hundreds of fields. */
const MAX_ERRORS = 500;

/** The error of an operation that selects too much; null when it may run. */
export function rejectionOf(
  schema: GraphQLSchema,
  { operation, fragments }: { readonly operation: OperationDefinitionNode; readonly fragments: Fragments },
  variables: Variables,
  maxFields: number,
): GraphQLError | null {
  // The variables are not coerced yet: only the lengths of lists are read.
  if (sizeOfSelection({ schema, operation, fragments, variables }) <= maxFields) return null;
  return tooLarge(
    `Expected at most ${maxFields} fields with fragments expanded and for each item of a list argument, got more.`,
  );
}

/** Opens the meter of an operation. It stops the operation when the caller disconnects. */
export function openOperationMeter(
  scope: RequestScope,
  { fields, bytes }: ExecutionLimits,
  turns: Turns,
  heldBytes: HeldBytes,
): Meter {
  const limits = { fields, bytes, errors: MAX_ERRORS };
  let held: Held | null = null;
  const hold = (size: number): void => (held ??= heldBytes.open(scope)).add(size);
  const meter = new Meter({ queue: turns.queueOf(scope.caller), limits, tooLarge, hold });
  scope.onEnd(() => {
    if (scope.ended === "left") meter.stop(new Cancelled("The caller left."));
  });
  return meter;
}

/** Runs a plan until it completes or its meter stops it; that of a subscription for one event. */
export const execute = (
  plan: Plan,
  variables: Variables,
  context: PlacedContext,
  meter: Meter,
  event: unknown,
  behavior: RunBehavior,
): Promise<ExecutedResult> =>
  new Promise((resolve) => {
    meter.onStop((reason) => resolve(resultOfStopped(plan, reason)));
    const onResult = (result: ExecutionResult, pieces?: Pieces | null): void => {
      const errors = meter.boundErrors([...(result.errors ?? [])]);
      resolve({ ...result, ...(errors.length > 0 && { errors }), ...(pieces && { pieces }) });
    };
    plan.run(variables, context, meter, event, onResult, behavior);
  });

function resultOfStopped({ operation }: Plan, reason: unknown): ExecutionResult {
  const error =
    reason instanceof GraphQLError ? reason : new GraphQLError("", { originalError: reason as Error });
  // Some fields of a stopped mutation may have taken effect, so the result is not a request error.
  return operation.operation === "mutation"
    ? { data: null, errors: [withExtensions(error, { outcome: "unknown" })] }
    : { errors: [error] };
}
