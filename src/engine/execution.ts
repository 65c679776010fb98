import { randomUUID } from "node:crypto";
import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { Cancelled, hasOutcome } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { withExtensions } from "./errors.ts";
import type { Variables } from "./field-source.ts";
import { toJsonText } from "./json-text.ts";
import { isLargeIntrospection } from "./limits/introspection.ts";
import { type Fragments, sizeOfSelection } from "./limits/selection.ts";
import { tooLarge } from "./limits/too-large.ts";
import { type Meter, openMeter } from "./meter.ts";
import type { Plan } from "./plan/plan.ts";

export interface ExecutionLimits {
  /** Fields that an operation may select, its fragments expanded. */
  readonly selected: number;
  /** Fields and list items that its result may have. */
  readonly fields: number;
  /** Bytes of its result. */
  readonly bytes: number;
}

/** A result, and how it is written where that takes long. */
export type WrittenResult = ExecutionResult & { readonly stringify?: (result: object) => string };

/** Errors of one answer: one for each row of the longest page. Each costs as much as hundreds of fields. */
const MAX_ERRORS = 500;

/** Why an operation may not run; null when it may. */
export function rejectionOf(
  schema: GraphQLSchema,
  { operation, fragments }: { readonly operation: OperationDefinitionNode; readonly fragments: Fragments },
  variables: Variables,
  most: number,
): GraphQLError | null {
  // Not yet coerced: only lengths of lists are looked at.
  const selection = { schema, operation, fragments, variables };
  if (sizeOfSelection(selection) > most) {
    return tooLarge(
      `Expected at most ${most} fields with fragments expanded and for each item of a list argument, got more.`,
    );
  }
  return isLargeIntrospection(selection)
    ? tooLarge("Expected at most half as much more of the schema as GraphQL tools ask, got more.")
    : null;
}

/** Opens the meter of an operation, which stops it when its caller leaves. */
export function openOperationMeter(scope: RequestScope, { fields, bytes }: ExecutionLimits): Meter {
  const limits = { fields, bytes, errors: MAX_ERRORS };
  const meter = openMeter({ callerKey: scope.callerKey, limits, tooLarge });
  scope.onEnd(() => {
    if (scope.ended() === "left") meter.stop(new Cancelled("The caller left."));
  });
  return meter;
}

/** Runs a plan to its end, or until its meter stops it. */
export async function execute(
  plan: Plan,
  variables: Variables,
  context: unknown,
  meter: Meter,
): Promise<WrittenResult> {
  try {
    const result = withBoundedErrors(
      await Promise.race([plan.run(variables, context, meter), meter.stopped]),
      meter,
    );
    if (!result.data || meter.bytes() <= LARGE_BYTES) return result;
    return { ...result, stringify: stringifierOf(await toJsonText(result.data)) };
  } catch (fault) {
    if (!meter.isStopped()) throw fault;
    const error =
      fault instanceof GraphQLError ? fault : new GraphQLError("", { originalError: fault as Error });
    // Fields of a mutation that was stopped may have been done: it is no request that was refused.
    return plan.operation.operation === "mutation"
      ? { data: null, errors: [withExtensions(error, { outcome: "unknown" })] }
      : { errors: [error] };
  }
}

function withBoundedErrors(result: ExecutionResult, meter: Meter): ExecutionResult {
  const { errors = [] } = result;
  const all = errors.length + meter.untoldErrors();
  if (all <= MAX_ERRORS) return result;
  const rest = tooLarge(`Expected at most ${MAX_ERRORS} errors, got ${all}: the others are left out.`);
  const outcomes = errors.slice(MAX_ERRORS).filter(({ originalError }) => hasOutcome(originalError));
  return { ...result, errors: [...errors.slice(0, MAX_ERRORS), ...outcomes, rest] };
}

/** Bytes beyond which a result is written in pieces. */
const LARGE_BYTES = 262_144;

/** Stands for the data while what is around it is written. */
const MARK = randomUUID();

/** Writes a result whose data was written before. */
const stringifierOf =
  (data: string) =>
  (result: object): string =>
    JSON.stringify({ ...result, data: MARK }).replace(`"${MARK}"`, () => data);
