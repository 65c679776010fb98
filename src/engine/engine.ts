import type { ExecutionResult, GraphQLError, OperationTypeNode } from "graphql";
import type { RequestScope } from "../callers/request-scope.ts";
import { ownCopy } from "../util/own-copy.ts";
import {
  createDocuments,
  type DocumentSettings,
  InvalidDocument,
  type PreparedDocument,
} from "./documents/prepared.ts";
import {
  type OperationParams,
  persistedDocuments,
  type TrustedDocuments,
  trustedDocuments,
} from "./documents/persisted.ts";
import {
  type FailedPath,
  recordErrors,
  endOfScopeError,
  rejection,
  stopError,
  tooLarge,
  withExtensions,
  withOutcome,
  withoutData,
} from "./errors.ts";
import { sizeOfSelection } from "./limits.ts";
import type { SelectedFields } from "./coordinates.ts";
import { Meter, type MeterSettings } from "./meter.ts";
import { PLANNED_FIELD_BYTES } from "./plan/compile.ts";
import {
  type IncrementalPayloads,
  type PublicErrors,
  withPublicErrors,
} from "./plan/incremental-payloads.ts";
import type { Plan } from "./plan/plan.ts";
import type { ErrorBehavior, ExecutionBehavior } from "./plan/types.ts";
import { mergeErrors, separateNames } from "./merge-errors.ts";
import { type EventExecution, openResults, type Results, type StreamSource } from "./subscription.ts";

/**
 * Details of an operation, which are filled in while it is prepared. The type decides which permit the operation needs, so it is set before
 * the context is opened. The other details are for logs and metrics.
 */
export interface OperationDetails {
  type: "query" | "mutation" | "subscription" | "invalid";
  name: string | null;
  /** SHA-256 of the document, in hexadecimal; null until the document is found valid. */
  hash: string | null;
  codes: readonly string[];
  readonly failed: FailedPath[];
  /** The fields that the operation selects; absent until its document is found valid. */
  selected?: SelectedFields;
}

/** The arguments of one execution, independent of the transport of the request. */
export interface ExecutionArgs extends EventExecution {
  readonly details: OperationDetails;
  /**
   * Set for a dry run (`x-rungraph-explain: plan`): the operation reads made-up records to find out which requests it would send. The
   * result has no data.
   */
  readonly dryRun: { readonly hasRequests: () => boolean } | null;
  /** Returns the `extensions` that report how the result was obtained; null if nothing is reported. */
  readonly extensions: (() => object | null) | null;
}

interface RunOptions {
  /** Whether mutations are rejected, as for GET. */
  readonly isReadOnly: boolean;
  /** Maximum size of the result, in bytes, if it is lower than the usual limit. */
  readonly maxBytes?: number;
  /** Whether the result may be delivered incrementally. By default `@defer` and `@stream` have no effect. */
  readonly isIncremental?: boolean;
  /** The result of `parse` for the same request, if `parse` was called. */
  readonly parsed?: ParsedRequest | null;
}

/** A document that is parsed but not yet validated, and the type of the requested operation. */
export interface ParsedRequest {
  readonly document: PreparedDocument;
  readonly type: OperationTypeNode;
}

export type EngineResult = ExecutionResult & { readonly payloads?: IncrementalPayloads };

interface EngineSettings extends DocumentSettings, Omit<MeterSettings, "limits"> {
  /** The only documents that may be executed; undefined if all documents may. */
  readonly trusted: TrustedDocuments | undefined;
  /** `selected`: maximum fields that an operation selects, with its fragments expanded. */
  readonly executionLimits: MeterSettings["limits"] & { readonly selected: number };
  readonly publicError: (error: unknown) => GraphQLError;
}

export type Engine = ReturnType<typeof createEngine>;

/** Maximum length of an operation name in logs, in characters, because callers choose the names. */
const MAX_OPERATION_NAME_LENGTH = 100;

/**
 * A cached document is charged to an operation only if it takes more memory than this, in bytes, because other operations may share it.
 * The longest document in `schema/operations` takes 250 kB.
 */
const SHARED_BYTES = 300_000;

/** Executes GraphQL requests of any transport: parses documents, applies limits, validates, plans, executes, and converts errors. */
export function createEngine(settings: EngineSettings) {
  const { schema, executionLimits, scheduler, memoryBudget, publicError } = settings;
  const documents = createDocuments(settings);
  const textOf = settings.trusted
    ? trustedDocuments(settings.trusted)
    : // The texts of persisted queries may take a quarter of the cache size in addition.
      persistedDocuments(Math.ceil(settings.cacheBytes / 4));

  /** Runs work of a request in a time slice of its caller. Rejects if the request has ended by then. */
  const runScheduled = <Value>(scope: RequestScope, work: () => Value): Promise<Value> =>
    new Promise((resolve, reject) =>
      scheduler.run(scope.caller, () => {
        const ended = scope.ended;
        try {
          if (ended) throw endOfScopeError(ended);
          resolve(work());
        } catch (error) {
          reject(error);
        }
      }),
    );

  const parse = (text: string, scope: RequestScope): Promise<PreparedDocument> =>
    runScheduled(scope, () => documents.known(text) ?? documents.parse(text));

  /** Parses and validates a document that is not cached. Uses two scheduled tasks, because validation takes up to 20 ms. */
  const prepareDocument = async (
    text: string,
    params: OperationParams,
    scope: RequestScope,
    { isReadOnly, parsed = null }: Pick<RunOptions, "isReadOnly" | "parsed">,
  ): Promise<PreparedDocument> => {
    const document = parsed?.document ?? (await parse(text, scope));
    memoryBudget.charge(scope, document.bytes());
    // An operation that cannot be executed is rejected before the validation.
    document.planOf(params.operationName, isReadOnly);
    return runScheduled(scope, () => {
      // Another request may have validated the same document meanwhile.
      const known = documents.known(text);
      if (!known) documents.validate(text, document);
      return known ?? document;
    });
  };

  /** Selects the plan of a request's operation, and records the details of the operation. Throws when the operation is too large. */
  const selectPlan = (
    document: PreparedDocument,
    params: OperationParams,
    details: OperationDetails,
    isReadOnly: boolean,
  ): { readonly plan: Plan; readonly onError: ErrorBehavior } => {
    const plan = document.planOf(params.operationName, isReadOnly);
    const { operation: type, name } = plan.operation;
    details.type = type;
    // The name is copied, because counters and spans outlive the document.
    details.name = name ? ownCopy(name.value.slice(0, MAX_OPERATION_NAME_LENGTH)) : null;
    details.hash = document.hash;
    details.selected = plan;
    // The variables are not coerced yet: only the lengths of lists are read.
    const { selected } = executionLimits;
    if (sizeOfSelection(schema, plan, params.variables ?? {}) > selected)
      throw tooLarge(
        `Expected at most ${selected} fields with fragments expanded and for each item of a list argument, got more.`,
      );
    return { plan, onError: params.onError == null ? "PROPAGATE" : errorBehaviorOf(params.onError) };
  };

  /**
   * Charges the memory of a plan to its caller. For a cached document, charges its actual size if that is above `SHARED_BYTES`. For any
   * other document, charges an upper bound for the plan, plus `besides` bytes.
   */
  const chargePlan = (scope: RequestScope, plan: Plan, known: PreparedDocument | null, besides = 0) =>
    known
      ? memoryBudget.charge(scope, known.bytes(), SHARED_BYTES)
      : memoryBudget.charge(scope, besides + sizeOfSelection(schema, plan, null) * PLANNED_FIELD_BYTES);

  /**
   * Executes a plan in a scope until the result is complete or the meter stops the operation. A subscription's plan is executed once for
   * each event.
   */
  const execute = (
    plan: Plan,
    { variables }: OperationParams,
    { scope, openContext }: EventExecution,
    behavior: ExecutionBehavior,
    maxBytes = Number.POSITIVE_INFINITY,
    event?: unknown,
  ): Promise<EngineResult> => {
    const { fields, bytes } = executionLimits;
    const limits = { fields, bytes: Math.min(bytes, maxBytes) };
    const meter = new Meter(scope, { scheduler, memoryBudget, limits });
    return new Promise((resolve) => {
      meter.onStop((reason) => resolve(resultOfStopped(plan, reason)));
      const onResult = (result: ExecutionResult, payloads?: IncrementalPayloads | null): void => {
        const errors = result.errors && { errors: meter.withCount(result.errors) };
        resolve({ ...result, ...errors, ...(payloads && { payloads }) });
      };
      plan.execute(variables ?? {}, openContext(meter), meter, event, onResult, behavior);
    });
  };

  const publicErrorsOf = (result: Parameters<typeof mergeErrors>[0], plan: Plan) =>
    mergeErrors(result, separateNames(schema, plan)).map(publicError);

  const failed = (error: unknown, details: OperationDetails): ExecutionResult => {
    // Safe: the errors of an invalid document are GraphQL errors.
    const errors = error instanceof InvalidDocument ? (error.errors as GraphQLError[]) : [publicError(error)];
    recordErrors(details, errors);
    return { errors };
  };

  return {
    /**
     * Executes a query or mutation. Never rejects. The caller of `run` ends the scope once the result is encoded; incremental payloads end
     * the scope themselves.
     */
    run: async (
      operation: ExecutionArgs,
      params: OperationParams,
      { isReadOnly, maxBytes, isIncremental = false, parsed = null }: RunOptions,
    ): Promise<EngineResult> => {
      const { details, scope } = operation;
      try {
        const text = textOf(params);
        const known = documents.known(text);
        const document = known ?? (await prepareDocument(text, params, scope, { isReadOnly, parsed }));
        const { plan, onError } = selectPlan(document, params, details, isReadOnly);
        chargePlan(scope, plan, known);
        if (plan.operation.operation === "subscription")
          throw rejection(NO_STREAM, "BAD_REQUEST", { status: 406 });
        const behavior = { onError, isIncremental: isIncremental && !operation.dryRun };
        const { payloads, ...result } = await execute(plan, params, operation, behavior, maxBytes);
        const { errors = [], data } = result;
        const [first] = errors;
        if (first) {
          const shown = publicErrorsOf({ errors, data }, plan);
          const isHalted = onError === "HALT" && details.type === "mutation";
          result.errors = isHalted ? withOutcome(shown, first) : shown;
          recordErrors(details, result.errors);
        }
        if (operation.dryRun) return withoutData(result, operation.dryRun.hasRequests());
        if (!payloads) return result;
        const convert: PublicErrors = (given) => {
          const shown = publicErrorsOf(given, plan);
          recordErrors(details, shown);
          return shown;
        };
        return { ...result, payloads: withPublicErrors(payloads, convert, () => scope.end("completed")) };
      } catch (error) {
        return failed(error, details);
      }
    },
    /**
     * Parses the document of a request, for transports that handle requests by the type of their operation. Resolves with null if the
     * document is invalid or lacks the operation. `run` then reports the error.
     */
    parse: async (params: OperationParams, scope: RequestScope): Promise<ParsedRequest | null> => {
      try {
        const text = textOf(params);
        const document = documents.known(text) ?? (await parse(text, scope));
        return { document, type: document.planOf(params.operationName, false).operation.operation };
      } catch {
        return null;
      }
    },
    /**
     * Opens the results of a subscription. Resolves with a single result when the subscription cannot be opened. Never rejects. `scope` is
     * the scope of the request, which ends once the subscription is open. `openStream` is called once the document is valid.
     */
    subscribe: async (
      request: StreamSource & Pick<ExecutionArgs, "details" | "scope">,
      parsed: ParsedRequest | null = null,
    ): Promise<{ readonly results: Results } | ExecutionResult> => {
      const { details, params, scope } = request;
      try {
        const text = textOf(params);
        const shared = documents.known(text);
        const prepared = shared ?? (await prepareDocument(text, params, scope, { isReadOnly: true, parsed }));
        const { plan, onError } = selectPlan(prepared, params, details, true);
        const reservation = chargePlan(scope, plan, shared, prepared.bytes());
        if (plan.operation.operation !== "subscription") throw rejection(ONLY_SUBSCRIPTIONS, "BAD_REQUEST");
        const results = await openResults(
          schema,
          prepared.document,
          { ...request, reservation, hideSuggestions: !settings.isIntrospectable },
          (event, execution) =>
            execute(plan, params, execution, { onError, isIncremental: false }, undefined, event)
              .then(({ errors, ...result }) =>
                errors ? { ...result, errors: publicErrorsOf({ errors, ...result }, plan) } : result,
              )
              .catch((error: unknown) => failed(error, details)),
        );
        if ("results" in results) return results;
        const errors = results.errors?.map(publicError) ?? [];
        recordErrors(details, errors);
        return { errors };
      } catch (error) {
        return failed(error, details);
      }
    },
  };
}

/** Finalizes a result: adds the request id to its errors, and adds `extensions`. */
export function finalizeResult<Result extends ExecutionResult>(
  result: Result,
  requestId: string,
  extensions: ExecutionArgs["extensions"] = null,
): Result {
  const shown = extensions?.() ?? null;
  const whole = shown ? { ...result, extensions: { ...result.extensions, ...shown } } : result;
  if (!result.errors) return whole;
  return { ...whole, errors: result.errors.map((error) => withExtensions(error, { requestId })) };
}

const ONLY_SUBSCRIPTIONS = "Expected a subscription, got an operation with a single result; send it by POST.";

const NO_STREAM =
  "Expected a subscription to be sent with `accept: text/event-stream` or over a WebSocket, got a request for a single result.";

function resultOfStopped({ operation }: Plan, reason: unknown): ExecutionResult {
  // Some fields of a stopped mutation may have taken effect, so the result is not a request error.
  return operation.operation === "mutation"
    ? { data: null, errors: [stopError(reason, { outcome: "unknown" })] }
    : { errors: [stopError(reason)] };
}

/** The error behavior that the parameter `onError` of a request names. Throws if the parameter has any other value. */
function errorBehaviorOf(onError: string): ErrorBehavior {
  if (onError === "NULL" || onError === "PROPAGATE" || onError === "HALT") return onError;
  throw rejection("onError: expected one of NULL, PROPAGATE, HALT", "BAD_REQUEST");
}
