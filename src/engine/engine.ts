import type { ExecutionResult, GraphQLError } from "graphql";
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

/** Facts about an operation for logs and metrics, filled in while the request is handled. */
export interface OperationFacts {
  type: "query" | "mutation" | "subscription" | "invalid";
  name: string | null;
  /** The distinct codes of its errors. */
  codes: readonly string[];
}

/** One GraphQL request, independent of its transport. */
export interface OperationRequest {
  readonly params: OperationParams;
  readonly scope: RequestScope;
  readonly facts: OperationFacts;
  /** Whether mutations are rejected, as for GET. */
  readonly isReadOnly: boolean;
  /** Creates the context for its resolvers. */
  readonly openContext: (meter: Meter) => PlacedContext;
  /** Reports what the operation cost, for `extensions.explain`; null unless the caller asks for it. */
  readonly explain: (() => object) | null;
}

export interface EngineSettings extends DocumentSettings {
  readonly documents: DocumentStore;
  readonly executionLimits: ExecutionLimits;
  /** Converts any error to the one that callers see. */
  readonly publicError: (error: unknown) => GraphQLError;
}

/** Runs GraphQL requests of any transport: documents, limits, validation, plans, execution and errors. */
export interface Engine {
  /** Runs a request. Never rejects. */
  readonly run: (request: OperationRequest) => Promise<WrittenResult>;
  /** Finalizes a result: adds the request id to its errors, removes the caller's values, and explains its cost. */
  readonly finish: <Result extends ExecutionResult>(
    result: Result,
    request: Pick<OperationRequest, "scope" | "explain">,
  ) => Result;
}

/** Longest operation name in logs, in characters: callers choose the names. */
const MAX_NAME_LENGTH = 100;

export function createEngine(settings: EngineSettings): Engine {
  const { schema, executionLimits, publicError } = settings;
  const documents = createDocuments(settings);

  const planOf = ({ params, facts, isReadOnly }: OperationRequest): Plan => {
    const prepared = documents.prepare(settings.documents(params));
    const plan = prepared.planOf(params.operationName);
    if (!plan) {
      throw rejection("Could not determine what operation to execute.", "OPERATION_RESOLUTION_FAILURE");
    }
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
    return plan;
  };

  const resultOf = async (request: OperationRequest): Promise<WrittenResult> => {
    const plan = planOf(request);
    const meter = openOperationMeter(request.scope, executionLimits);
    const context = request.openContext(meter);
    const result = await execute(plan, request.params.variables ?? {}, context, meter);
    if (!result.errors) return result;
    return { ...result, errors: mergeFailures(result.errors, result.data).map(publicError) };
  };

  return {
    run: async (request) => {
      const { facts, scope } = request;
      try {
        const result = await resultOf(request);
        facts.codes = codesOf(result.errors);
        return result;
      } catch (error) {
        const errors = error instanceof InvalidDocument ? error.validationErrors : [publicError(error)];
        facts.codes = codesOf(errors);
        return { errors };
      } finally {
        // Cancels prefetches that turned out not to be needed.
        scope.end("done");
      }
    },
    finish: (result, { scope: { requestId }, explain }) => {
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

/** A document that does not validate against the schema. */
class InvalidDocument extends Error {
  readonly validationErrors: readonly GraphQLError[];

  constructor(validationErrors: readonly GraphQLError[]) {
    super("invalid document");
    this.validationErrors = validationErrors;
  }
}

const codesOf = (errors: ExecutionResult["errors"] = []): string[] => [
  ...new Set(errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN"))),
];
