import { randomUUID } from "node:crypto";
import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { Cancelled } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { withExtensions } from "./errors.ts";
import type { PlacedContext, Variables } from "./field-source.ts";
import { toJsonText } from "./json-text.ts";
import { type Fragments, sizeOfSelection } from "./limits/selection.ts";
import { tooLarge } from "./limits/too-large.ts";
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

/** A result. `stringify` is present for large results, whose data is already serialized. */
export type WrittenResult = ExecutionResult & { readonly stringify?: (result: object) => string };

/** A result of which parts may be delivered later. */
export type ExecutedResult = WrittenResult & { readonly pieces?: Pieces };

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
): Meter {
  const limits = { fields, bytes, errors: MAX_ERRORS };
  const meter = new Meter({ queue: turns.queueOf(scope.caller), limits, tooLarge });
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
  new Promise((resolve, reject) => {
    meter.onStop((reason) => resolve(resultOfStopped(plan, reason)));
    const onResult = (result: ExecutionResult, pieces?: Pieces | null): void => {
      // What is left of a stopped operation may complete in the same piece of work.
      if (meter.isStopped) return;
      const errors = meter.boundErrors([...(result.errors ?? [])]);
      const bounded = { ...result, ...(errors.length > 0 && { errors }), ...(pieces && { pieces }) };
      if (!bounded.data || meter.bytes <= LARGE_BYTES) resolve(bounded);
      else written(bounded, bounded.data).then(resolve, reject);
    };
    plan.run(variables, context, meter, event, onResult, behavior);
  });

async function written(result: ExecutedResult, data: object): Promise<WrittenResult> {
  return { ...result, stringify: stringifierOf(await toJsonText(data)) };
}

function resultOfStopped({ operation }: Plan, reason: unknown): ExecutionResult {
  const error =
    reason instanceof GraphQLError ? reason : new GraphQLError("", { originalError: reason as Error });
  // Some fields of a stopped mutation may have taken effect, so the result is not a request error.
  return operation.operation === "mutation"
    ? { data: null, errors: [withExtensions(error, { outcome: "unknown" })] }
    : { errors: [error] };
}

/**
 * Larger results, in bytes, are serialized in time slices. At once, 1 MB takes 4 ms, 32 MB 160 ms, and a megabyte of keys of
 * one object 40 ms.
 */
const LARGE_BYTES = 1_000_000;

/** Placeholder for the serialized data. */
const MARK = randomUUID();

/** Returns a `stringify` for a result whose data is already serialized. */
const stringifierOf =
  (data: string) =>
  (result: object): string =>
    JSON.stringify({ ...result, data: MARK }).replace(`"${MARK}"`, () => data);
