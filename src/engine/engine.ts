import type { ExecutionResult, GraphQLError, OperationTypeNode } from "graphql";
import { CancelledError } from "../errors.ts";
import type { MemoryReservation } from "../callers/memory-budget.ts";
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
  overloaded,
  rejection,
  stopError,
  tooLarge,
  withExtensions,
  withOutcome,
} from "./errors.ts";
import { sizeOfSelection } from "./limits.ts";
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

/** Details of an operation, filled in as it is read. Its type decides on its permit, before its context is opened; the rest is for logs and metrics. */
export interface OperationDetails {
  type: "query" | "mutation" | "subscription" | "invalid";
  name: string | null;
  /** SHA-256 of its document, in hexadecimal; null until that is found valid. */
  hash: string | null;
  /** The distinct codes of its errors. */
  codes: readonly string[];
  readonly failed: FailedPath[];
}

/** The operation of one request, independent of its transport. */
export interface ExecutionArgs extends EventExecution {
  readonly details: OperationDetails;
  /** The `extensions` of the result that report how it came about; null for none. */
  readonly extensions: (() => object | null) | null;
}

interface RunOptions {
  /** Whether mutations are rejected, as for GET. */
  readonly isReadOnly: boolean;
  /** Longest result, in bytes, when it is less than for other requests. */
  readonly maxBytes?: number;
  /** Whether the result may be delivered incrementally; otherwise it is whole, whatever is deferred. */
  readonly isIncremental?: boolean;
}

export type EngineResult = ExecutionResult & { readonly payloads?: IncrementalPayloads };

interface EngineSettings extends DocumentSettings, Omit<MeterSettings, "limits"> {
  /** The only documents that run; undefined where all do. */
  readonly trusted: TrustedDocuments | undefined;
  /** `selected`: maximum fields that an operation selects, with its fragments expanded. */
  readonly executionLimits: MeterSettings["limits"] & { readonly selected: number };
  readonly publicError: (error: unknown) => GraphQLError;
}

export type Engine = ReturnType<typeof createEngine>;

/** Longest operation name in logs, in characters: callers choose the names. */
const MAX_OPERATION_NAME_LENGTH = 100;

/** A known document, as others may share it, counts only if it takes more, in bytes: the longest in `schema/operations` takes 250 kB. */
const SHARED_BYTES = 300_000;

/** Runs GraphQL requests of any transport: documents, limits, validation, plans, execution and errors. */
export function createEngine(settings: EngineSettings) {
  const { schema, executionLimits, scheduler, memoryBudget, publicError } = settings;
  const documents = createDocuments(settings);
  const textOf = settings.trusted
    ? trustedDocuments(settings.trusted)
    : // The texts of persisted queries beside the parsed documents.
      persistedDocuments(Math.ceil(settings.cacheBytes / 4));

  /** Runs work of a request when the caller's task is scheduled, unless the request has ended by then. */
  const runScheduled = <Value>(scope: RequestScope, work: () => Value): Promise<Value> =>
    new Promise((resolve, reject) =>
      scheduler.run(scope.caller, () => {
        const ended = scope.ended;
        try {
          if (ended) throw ended === "disconnected" ? new CancelledError("The caller left.") : overloaded();
          resolve(work());
        } catch (error) {
          reject(error);
        }
      }),
    );

  const parse = (text: string, scope: RequestScope): Promise<PreparedDocument> =>
    runScheduled(scope, () => documents.known(text) ?? documents.parse(text));

  /** Reads a document that is not cached, in two tasks: one to parse it, and one to validate it, which takes up to 20 ms. */
  const prepareDocument = async (
    text: string,
    params: OperationParams,
    scope: RequestScope,
    isReadOnly: boolean,
  ): Promise<PreparedDocument> => {
    const parsed = await parse(text, scope);
    memoryBudget.charge(scope, parsed.bytes());
    selectPlan(parsed, params, isReadOnly);
    return runScheduled(scope, () => {
      // The same document may have been read meanwhile.
      const known = documents.known(text);
      if (!known) documents.validate(text, parsed);
      return known ?? parsed;
    });
  };

  const planOf = (
    document: PreparedDocument,
    params: OperationParams,
    details: OperationDetails,
    isReadOnly: boolean,
  ): { readonly plan: Plan; readonly onError: ErrorBehavior } => {
    const plan = selectPlan(document, params, isReadOnly);
    const { operation: type, name } = plan.operation;
    details.type = type;
    // Counters and spans outlive the document.
    details.name = name ? ownCopy(name.value.slice(0, MAX_OPERATION_NAME_LENGTH)) : null;
    details.hash = document.hash;
    // The variables are not coerced yet: only the lengths of lists are read.
    const { selected } = executionLimits;
    if (sizeOfSelection(schema, plan, params.variables ?? {}) > selected)
      throw tooLarge(
        `Expected at most ${selected} fields with fragments expanded and for each item of a list argument, got more.`,
      );
    return { plan, onError: params.onError == null ? "PROPAGATE" : errorBehaviorOf(params.onError) };
  };

  /** Counts what a plan takes at most, and `besides`; of a document that is known, what it takes where that is much. */
  const chargePlan = (
    scope: RequestScope,
    plan: Plan,
    known: PreparedDocument | null,
    besides = 0,
  ): MemoryReservation | null =>
    known
      ? memoryBudget.charge(scope, known.bytes(), SHARED_BYTES)
      : memoryBudget.charge(scope, besides + sizeOfSelection(schema, plan, null) * PLANNED_FIELD_BYTES);

  /** Runs a plan in a scope until it completes or its meter stops it; that of a subscription for one event. */
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
    // Safe: those of an invalid document are its own.
    const errors = error instanceof InvalidDocument ? (error.errors as GraphQLError[]) : [publicError(error)];
    recordErrors(details, errors);
    return { errors };
  };

  return {
    /** Runs a request. Never rejects. Its caller ends the scope once the result is encoded; payloads end it themselves. */
    run: async (
      operation: ExecutionArgs,
      params: OperationParams,
      { isReadOnly, maxBytes, isIncremental = false }: RunOptions,
    ): Promise<EngineResult> => {
      const { details, scope } = operation;
      try {
        const text = textOf(params);
        const known = documents.known(text);
        const document = known ?? (await prepareDocument(text, params, scope, isReadOnly));
        const { plan, onError } = planOf(document, params, details, isReadOnly);
        chargePlan(scope, plan, known);
        if (plan.operation.operation === "subscription")
          throw rejection(NO_STREAM, "BAD_REQUEST", { status: 406 });
        const behavior = { onError, isIncremental };
        const { payloads, ...result } = await execute(plan, params, operation, behavior, maxBytes);
        const { errors = [], data } = result;
        const [first] = errors;
        if (first) {
          const shown = publicErrorsOf({ errors, data }, plan);
          const isHalted = onError === "HALT" && details.type === "mutation";
          result.errors = isHalted ? withOutcome(shown, first) : shown;
          recordErrors(details, result.errors);
        }
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
    /** The type of a request's operation; null when its document cannot be read. */
    typeOf: async (params: OperationParams, scope: RequestScope): Promise<OperationTypeNode | null> => {
      try {
        const text = textOf(params);
        const document = documents.known(text) ?? (await parse(text, scope));
        return selectPlan(document, params, false).operation.operation;
      } catch {
        return null;
      }
    },
    /**
     * Opens the results of a subscription. Resolves with a single result when it cannot be opened. Never rejects. `scope` is
     * that of the request for it, and ends once it is open. `openStream` is called once its document is valid.
     */
    subscribe: async (
      request: StreamSource & Omit<ExecutionArgs, "openContext" | "extensions">,
    ): Promise<{ readonly results: Results } | ExecutionResult> => {
      const { details, params, scope } = request;
      try {
        const text = textOf(params);
        const shared = documents.known(text);
        const prepared = shared ?? (await prepareDocument(text, params, scope, true));
        const { plan, onError } = planOf(prepared, params, details, true);
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
    /** Finalizes a result: adds the request id to its errors, and `extensions`. */
    finish: <Result extends ExecutionResult>(
      result: Result,
      requestId: string,
      extensions: ExecutionArgs["extensions"] = null,
    ): Result => {
      const shown = extensions?.() ?? null;
      const whole = shown ? { ...result, extensions: { ...result.extensions, ...shown } } : result;
      if (!result.errors) return whole;
      return { ...whole, errors: result.errors.map((error) => withExtensions(error, { requestId })) };
    },
  };
}

const ONLY_SUBSCRIPTIONS =
  "Expected a subscription, got an operation with a single result: it is sent by POST.";

const NO_STREAM =
  "Expected a subscription by `accept: text/event-stream` or a WebSocket, got a request for a single result.";

function resultOfStopped({ operation }: Plan, reason: unknown): ExecutionResult {
  const error = stopError(reason);
  // Some fields of a stopped mutation may have taken effect, so the result is not a request error.
  return operation.operation === "mutation"
    ? { data: null, errors: [withExtensions(error, { outcome: "unknown" })] }
    : { errors: [error] };
}

/** The plan of a request's operation. Throws when there is none, or when it is a mutation and the request only reads. */
function selectPlan(document: PreparedDocument, params: OperationParams, isReadOnly: boolean): Plan {
  const plan = document.planOf(params.operationName);
  if (!isReadOnly || plan.operation.operation !== "mutation") return plan;
  throw rejection("Can only perform a mutation operation from a POST request.", "BAD_REQUEST", {
    status: 405,
    headers: { Allow: "POST" },
  });
}

/** The error behavior by `onError` of a request. Throws when that is something else. */
function errorBehaviorOf(onError: string): ErrorBehavior {
  if (onError === "NULL" || onError === "PROPAGATE" || onError === "HALT") return onError;
  throw rejection("onError: expected one of NULL, PROPAGATE, HALT", "BAD_REQUEST");
}
