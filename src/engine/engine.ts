import { GraphQLError, type ExecutionResult, type GraphQLSchema } from "graphql";
import { ERROR_CODES, type ErrorCode } from "../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import { createDocuments, type DocumentSettings } from "./documents/prepared.ts";
import type { DocumentStore, OperationParams } from "./documents/persisted.ts";
import { withExtensions, withoutLiterals, withoutSuggestions } from "./errors.ts";
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

/** What becomes known of a request's operation while it is worked on. */
export interface OperationFacts {
  type: "query" | "mutation" | "subscription" | "invalid";
  name: string | null;
  /** Codes of its errors, each once. */
  codes: readonly string[];
}

/** One GraphQL request, however it came. */
export interface OperationRequest {
  readonly params: OperationParams;
  readonly scope: RequestScope;
  readonly facts: OperationFacts;
  /** Whether it came by GET, which must change nothing. */
  readonly isReadOnly: boolean;
  /** Opens the context of its resolvers. */
  readonly openContext: (meter: Meter) => unknown;
}

export interface EngineSettings extends DocumentSettings {
  readonly schema: GraphQLSchema;
  readonly documents: DocumentStore;
  readonly executionLimits: ExecutionLimits;
  /** Makes of any error what callers see. */
  readonly publicError: (thrown: unknown) => GraphQLError;
}

/** Documents, limits, validation, plans, execution and errors: what becomes of a GraphQL request, whichever way it came. */
export interface Engine {
  /** The result of a request. Never rejects. */
  readonly run: (request: OperationRequest) => Promise<WrittenResult>;
  /** The errors of a result as they are told last: with the id of their request, and without what was asked. */
  readonly finish: <Result extends ExecutionResult>(result: Result, requestId: string) => Result;
}

/** Names are the caller's choice: in a log they are words of GraphQL and not long. */
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
    const faults = prepared.faults();
    if (faults.length > 0) throw new Invalid(faults);
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
      } catch (thrown) {
        const errors = thrown instanceof Invalid ? thrown.faults : [publicError(thrown)];
        facts.codes = codesOf(errors);
        return { errors };
      } finally {
        // What is still on its way to the service was asked early and is not needed.
        scope.end("done");
      }
    },
    finish: (result, requestId) => {
      if (!result.errors) return result;
      const errors = result.errors
        .map(withoutLiterals)
        .map((error) =>
          withExtensions(settings.isIntrospectable ? error : withoutSuggestions(error), { requestId }),
        );
      return { ...result, errors };
    },
  };
}

/** A document that does not fit the schema. */
class Invalid extends Error {
  readonly faults: readonly GraphQLError[];

  constructor(faults: readonly GraphQLError[]) {
    super("invalid document");
    this.faults = faults;
  }
}

const codesOf = (errors: ExecutionResult["errors"] = []): string[] => [
  ...new Set(errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN"))),
];

const rejection = (message: string, code: ErrorCode, http: object = {}): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { status: ERROR_CODES[code].status, ...http } } });
