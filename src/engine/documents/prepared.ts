import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
} from "graphql";
import { LRUCache } from "lru-cache";
import { type ErrorCode, statusOf } from "../../errors.ts";
import { withExtensions } from "../errors.ts";
import { limitRules, type OperationLimits, parseBounded } from "../limits/document.ts";
import { createPlan, type Plan, type Planner } from "../plan/plan.ts";

/** A document that was parsed. */
export interface PreparedDocument {
  readonly document: DocumentNode;
  /** What is wrong with it; empty when it is valid. Found when it is first asked for. */
  readonly faults: () => readonly GraphQLError[];
  /** The plan of an operation of a valid document; null when there is none of that name, or several without one. */
  readonly planOf: (operationName: string | null | undefined) => Plan | null;
}

export interface DocumentSettings {
  readonly schema: GraphQLSchema;
  /** Bytes of the heap that kept documents may take. */
  readonly cacheBytes: number;
  readonly limits: OperationLimits;
  readonly isIntrospectable: boolean;
  /** Makes the plan of an operation. Another one only where a test compares. */
  readonly planner?: Planner;
}

/** Documents with more characters are parsed and validated again each time. */
const MAX_KEPT_LENGTH = 16_384;

/** What a document takes of the heap with its plans, measured: about 800 bytes a token, half of it for the plan, and its text. */
const BYTES_PER_TOKEN = 960;
const BYTES_PER_CHARACTER = 2;

const weigh = ({ document: { tokenCount = 0 } }: PreparedDocument, text: string): number =>
  tokenCount * BYTES_PER_TOKEN + text.length * BYTES_PER_CHARACTER;

/** Parses, validates and plans documents, and keeps those that are valid: up to so many bytes, the ones unused for longest go first. */
export function createDocuments({
  schema,
  cacheBytes,
  limits,
  isIntrospectable,
  planner = createPlan,
}: DocumentSettings) {
  const kept = new LRUCache<string, PreparedDocument>({ maxSize: cacheBytes, sizeCalculation: weigh });
  const rules = [
    ...specifiedRules,
    ...limitRules(limits),
    ...(isIntrospectable ? [] : [NoSchemaIntrospectionCustomRule]),
  ];

  const parse = (text: string): DocumentNode => {
    try {
      return parseBounded(text, limits.tokens);
    } catch (fault) {
      throw fault instanceof GraphQLError ? requestError(fault, "GRAPHQL_PARSE_FAILED") : fault;
    }
  };

  const open = (text: string): PreparedDocument => {
    const document = parse(text);
    const plans = new Map<string, Plan>();
    let faults: readonly GraphQLError[] | null = null;
    const prepared: PreparedDocument = {
      document,
      faults: () => {
        faults ??= validate(schema, document, rules).map((error) =>
          requestError(error, "GRAPHQL_VALIDATION_FAILED"),
        );
        if (faults.length === 0 && text.length <= MAX_KEPT_LENGTH) kept.set(text, prepared);
        return faults;
      },
      planOf: (operationName) => {
        const operation = getOperationAST(document, operationName);
        if (!operation) return null;
        const name = operation.name?.value ?? "";
        const plan = plans.get(name) ?? planner(schema, document, operation);
        plans.set(name, plan);
        return plan;
      },
    };
    return prepared;
  };

  return {
    /** Throws `GraphQLError` when the text cannot be parsed. */
    prepare: (text: string): PreparedDocument => kept.get(text) ?? open(text),
  };
}

/** An error of a document, with the code and the status that it has unless it brings its own. */
const requestError = (error: GraphQLError, code: ErrorCode): GraphQLError =>
  withExtensions(error, { code, http: { spec: true, status: statusOf(code) }, ...error.extensions });
