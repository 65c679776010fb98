import { randomUUID } from "node:crypto";
import { type ExecutionArgs, type ExecutionResult, getOperationAST, GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { withExtensions } from "./errors.ts";
import type { RequestState } from "../http/request.ts";
import { hasOutcome } from "../errors.ts";
import type { Session } from "../rest/session/session.ts";
import { isLargeIntrospection } from "./limits/introspection.ts";
import { toJsonText } from "./json-text.ts";
import { type Meter, openMeter } from "./meter.ts";
import { readTogether } from "../rest/session/reads.ts";
import { fragmentsOf, sizeOfSelection, type Variables } from "./limits/selection.ts";
import { tooLarge } from "./limits/too-large.ts";

export interface ExecutionLimits {
  /** Fields that an operation may select, its fragments expanded. */
  readonly selected: number;
  /** Fields and list items that its result may have. */
  readonly fields: number;
  /** Bytes of its result. */
  readonly bytes: number;
}

/** Errors of one answer: one for each row of the longest page. Each costs as much as hundreds of fields. */
const MOST_ERRORS = 500;

/** What the context has, and what is added to it. */
interface Metered {
  readonly state: RequestState;
  readonly session: Session;
  readonly meter?: Meter;
}

/** Bounds what an operation selects before it runs, and what it gives while it runs. */
export function useExecutionLimits({ selected, fields, bytes }: ExecutionLimits): Plugin<Metered> {
  return {
    onExecute({ args, context, extendContext, executeFn, setExecuteFn, setResultAndStopExecution }) {
      const refusal = refusalOf(args, selected);
      if (refusal) {
        setResultAndStopExecution({ errors: [refusal] });
        return;
      }
      const { party } = context.state.scope;
      const meter = openMeter({ party, limits: { fields, bytes, errors: MOST_ERRORS }, tooLarge });
      extendContext({ meter, session: readTogether(context.session, meter) });
      setExecuteFn((given: Signalled) => run(executeFn, given, meter));
    },
    async onResultProcess({ result, setResult }) {
      if (!("data" in result) || !result.data || !large.has(result.data)) return;
      setResult({ ...result, stringify: stringifierOf(await toJsonText(result.data)) });
    },
  };
}

function refusalOf(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  most: number,
): GraphQLError | null {
  const operation = getOperationAST(document, operationName);
  // The executor says what is wrong then.
  if (!operation) return null;
  // Not yet coerced: only lengths of lists are looked at.
  const variables: Variables = variableValues ?? {};
  const selection = { schema, operation, fragments: fragmentsOf(document), variables };
  if (sizeOfSelection(selection) > most) {
    return tooLarge(
      `Expected at most ${most} fields with fragments expanded and for each item of a list argument, got more.`,
    );
  }
  return isLargeIntrospection(selection)
    ? tooLarge("Expected at most half as much more of the schema as GraphQL tools ask, got more.")
    : null;
}

/** `useExecutionCancellation` adds the signal; the types of execution do not know it. */
type Signalled = ExecutionArgs & { readonly signal?: AbortSignal };

async function run(
  execute: (args: Signalled) => unknown,
  args: Signalled,
  meter: Meter,
): Promise<ExecutionResult> {
  const { signal } = args;
  signal?.addEventListener("abort", () => meter.stop(signal.reason), { once: true });
  try {
    // Nothing is deferred or streamed here: there is one result.
    const result = (await Promise.race([execute(args), meter.stopped])) as ExecutionResult;
    if (result.data && meter.bytes() > LARGE) large.add(result.data);
    return withBoundedErrors(result, meter);
  } catch (fault) {
    // A result like any other: it is reported, and ends what is under way.
    if (fault instanceof GraphQLError && meter.isStopped()) return stoppedResult(fault, args);
    throw fault;
  }
}

/** Fields of a mutation that was stopped may have been done: it is no request that was refused. */
function stoppedResult(error: GraphQLError, { document, operationName }: ExecutionArgs): ExecutionResult {
  const isMutation = getOperationAST(document, operationName)?.operation === "mutation";
  return isMutation
    ? { data: null, errors: [withExtensions(error, { outcome: "unknown" })] }
    : { errors: [error] };
}

function withBoundedErrors(result: ExecutionResult, meter: Meter): ExecutionResult {
  const { errors = [] } = result;
  const all = errors.length + meter.untoldErrors();
  if (all <= MOST_ERRORS) return result;
  const rest = tooLarge(`Expected at most ${MOST_ERRORS} errors, got ${all}: the others are left out.`);
  const outcomes = errors.slice(MOST_ERRORS).filter(({ originalError }) => hasOutcome(originalError));
  return { ...result, errors: [...errors.slice(0, MOST_ERRORS), ...outcomes, rest] };
}

/** Bytes beyond which a result is written in pieces. */
const LARGE = 262_144;

/** The `data` of large results that are on their way to being written. */
const large = new WeakSet<object>();

/** Stands for the data while Yoga writes what is around it. */
const MARK = randomUUID();

/** Writes a result whose data was written before. */
const stringifierOf =
  (data: string) =>
  (result: object): string =>
    JSON.stringify({ ...result, data: MARK }).replace(`"${MARK}"`, () => data);
