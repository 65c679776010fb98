import type { ExecutionResult, GraphQLError, OperationTypeNode } from "graphql";
import type { RequestScope } from "../request-scope.ts";
import { createDocuments, type DocumentSettings } from "./documents/prepared.ts";
import type { DocumentStore, OperationParams } from "./documents/persisted.ts";
import { rejection, withExtensions, withoutLiterals, withoutSuggestions } from "./errors.ts";
import type { PlacedContext } from "./field-source.ts";
import {
  execute,
  type ExecutionLimits,
  openOperationMeter,
  rejectionOf,
  type WrittenResult,
} from "./execution.ts";
import type { Meter } from "./meter.ts";
import type { Plan } from "./plan/plan.ts";
import { mergeFailures } from "./shared-failures.ts";
import { openResults, type Results, type StreamSource } from "./subscription.ts";

/** Facts about an operation for logs and metrics, filled in while the request is handled. */
export interface OperationFacts {
  type: "query" | "mutation" | "subscription" | "invalid";
  name: string | null;
  /** The distinct codes of its errors. */
  codes: readonly string[];
}

/** The operation of one request, independent of its transport. */
export interface Operation {
  readonly scope: RequestScope;
  readonly facts: OperationFacts;
  /** Creates the context for its resolvers. */
  readonly openContext: (meter: Meter) => PlacedContext;
  /** Reports what the operation cost, for `extensions.explain`; null unless the caller asks for it. */
  readonly explain: (() => object) | null;
}

/** What an operation may do and return. */
interface RunOptions {
  /** Whether mutations are rejected, as for GET. */
  readonly isReadOnly: boolean;
  /** Longest result, in bytes, when it is less than for other requests. */
  readonly maxBytes?: number;
}

/** A request for a subscription, independent of its transport. `openStream` is called once its document is valid. */
interface StreamRequest extends StreamSource {
  readonly facts: OperationFacts;
}

/** The results of a subscription, or a single result when it could not begin. */
type StreamResult = { readonly results: Results } | WrittenResult;

export interface EngineSettings extends DocumentSettings {
  readonly documents: DocumentStore;
  readonly executionLimits: ExecutionLimits;
  /** Converts any error to the one that callers see. */
  readonly publicError: (error: unknown) => GraphQLError;
}

/** Runs GraphQL requests of any transport: documents, limits, validation, plans, execution and errors. */
export interface Engine {
  /** Runs a request. Never rejects. */
  readonly run: (
    operation: Operation,
    params: OperationParams,
    options: RunOptions,
  ) => Promise<WrittenResult>;
  /** The type of a request's operation; null when its document cannot be read. */
  readonly typeOf: (params: OperationParams) => Promise<OperationTypeNode | null>;
  /** Opens the results of a subscription. Resolves with a single result when it cannot be opened. Never rejects. */
  readonly subscribe: (request: StreamRequest) => Promise<StreamResult>;
  /**
   * Finalizes a result: adds the request id to its errors and removes the caller's values from them. `explain` reports
   * what it cost.
   */
  readonly finish: <Result extends ExecutionResult>(
    result: Result,
    requestId: string,
    explain?: Operation["explain"],
  ) => Result;
}

/** Longest operation name in logs, in characters: callers choose the names. */
const MAX_NAME_LENGTH = 100;

export function createEngine(settings: EngineSettings): Engine {
  const { schema, executionLimits, publicError } = settings;
  const documents = createDocuments(settings);

  const prepare = (text: string, params: OperationParams) => {
    const prepared = documents.prepare(text);
    const plan = prepared.planOf(params.operationName);
    if (plan) return { prepared, plan };
    throw rejection("Could not determine what operation to execute.", "OPERATION_RESOLUTION_FAILURE");
  };

  const planOf = (text: string, params: OperationParams, facts: OperationFacts, isReadOnly: boolean) => {
    const { prepared, plan } = prepare(text, params);
    const { operation: type, name } = plan.operation;
    if (isReadOnly && type === "mutation") {
      throw rejection("Can only perform a mutation operation from a POST request.", "BAD_REQUEST", {
        status: 405,
        headers: { Allow: "POST" },
      });
    }
    const validationErrors = prepared.validationErrors();
    if (validationErrors.length > 0) throw new InvalidDocument(validationErrors);
    facts.type = type;
    facts.name = name?.value.slice(0, MAX_NAME_LENGTH) ?? null;
    const tooMuch = rejectionOf(schema, plan, params.variables ?? {}, executionLimits.selected);
    if (tooMuch) throw tooMuch;
    return { document: prepared.document, plan };
  };

  const limitsFor = (maxBytes = executionLimits.bytes): ExecutionLimits =>
    maxBytes < executionLimits.bytes ? { ...executionLimits, bytes: maxBytes } : executionLimits;

  const withPublicErrors = (result: WrittenResult): WrittenResult =>
    result.errors
      ? { ...result, errors: mergeFailures(result.errors, result.data).map(publicError) }
      : result;

  const failed = (error: unknown, facts: OperationFacts): WrittenResult => {
    const errors = error instanceof InvalidDocument ? error.validationErrors : [publicError(error)];
    facts.codes = codesOf(errors);
    return { errors };
  };

  return {
    run: async (operation, params, { isReadOnly, maxBytes }) => {
      const { facts, scope } = operation;
      try {
        const text = settings.documents(params);
        // Nearly every document is known: without a promise it costs nothing.
        const known = typeof text === "string" ? text : await text;
        const { plan } = planOf(known, params, facts, isReadOnly);
        if (plan.operation.operation === "subscription")
          throw rejection(NO_STREAM, "BAD_REQUEST", { status: 406 });
        const result = withPublicErrors(await resultOf(plan, params, operation, limitsFor(maxBytes)));
        if (result.errors) facts.codes = codesOf(result.errors);
        return result;
      } catch (error) {
        return failed(error, facts);
      } finally {
        // Cancels prefetches that turned out not to be needed.
        scope.end("done");
      }
    },
    typeOf: async (params) => {
      try {
        return prepare(await settings.documents(params), params).plan.operation.operation;
      } catch {
        return null;
      }
    },
    subscribe: async (request) => {
      const { facts, params } = request;
      try {
        const { document, plan } = planOf(await settings.documents(params), params, facts, true);
        if (plan.operation.operation !== "subscription") throw rejection(ONLY_SUBSCRIPTIONS, "BAD_REQUEST");
        const results = await openResults({ schema, document }, request, (event, execution) =>
          resultOf(plan, params, execution, executionLimits, event)
            .then(withPublicErrors)
            .catch((error: unknown) => failed(error, facts)),
        );
        if ("results" in results) return results;
        const errors = results.errors?.map(publicError) ?? [];
        facts.codes = codesOf(errors);
        return { errors };
      } catch (error) {
        return failed(error, facts);
      }
    },
    finish: (result, requestId, explain = null) => {
      const explained = explain
        ? { ...result, extensions: { ...result.extensions, explain: explain() } }
        : result;
      if (!result.errors) return explained;
      const errors = result.errors
        .map(withoutLiterals)
        .map((error) =>
          withExtensions(settings.isIntrospectable ? error : withoutSuggestions(error), { requestId }),
        );
      return { ...explained, errors };
    },
  };
}

const ONLY_SUBSCRIPTIONS =
  "Expected a subscription, got an operation with a single result: it is sent by POST.";

const NO_STREAM =
  "Expected a subscription by `accept: text/event-stream` or a WebSocket, got a request for a single result.";

/** A document that does not validate against the schema. */
class InvalidDocument extends Error {
  readonly validationErrors: readonly GraphQLError[];

  constructor(validationErrors: readonly GraphQLError[]) {
    super("invalid document");
    this.validationErrors = validationErrors;
  }
}

/** Runs a plan in a scope, with a meter of its own. */
function resultOf(
  plan: Plan,
  { variables }: OperationParams,
  { scope, openContext }: Pick<Operation, "scope" | "openContext">,
  limits: ExecutionLimits,
  event?: unknown,
): Promise<WrittenResult> {
  const meter = openOperationMeter(scope, limits);
  return execute(plan, variables ?? {}, openContext(meter), meter, event);
}

const codesOf = (errors: readonly GraphQLError[]): string[] => [
  ...new Set(errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN"))),
];
