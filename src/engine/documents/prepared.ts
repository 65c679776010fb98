import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  validate,
} from "graphql";
import { LRUCache } from "lru-cache";
import { type ErrorCode, statusOf } from "../../errors.ts";
import { withExtensions } from "../errors.ts";
import { limitRules, type OperationLimits, parseBounded } from "../limits/document.ts";
import { subscriptionRootRule } from "../limits/subscription-root.ts";
import { BYTES_PER_CHARACTER } from "./persisted.ts";
import { createPlan, type Plan, type Planner } from "../plan/plan.ts";

/** A parsed document. */
export interface PreparedDocument {
  readonly document: DocumentNode;
  /** Estimated heap size with its plans, which grow while they run. */
  readonly bytes: () => number;
  /** Validation errors; empty when the document is valid. Validates on the first call. */
  readonly validationErrors: () => readonly GraphQLError[];
  /** The plan of an operation; null when no operation has that name, or the name is missing and there are several. */
  readonly planOf: (operationName: string | null | undefined) => Plan | null;
}

export interface DocumentSettings {
  readonly schema: GraphQLSchema;
  /** Maximum heap size of cached documents, in bytes. */
  readonly cacheBytes: number;
  readonly limits: OperationLimits;
  readonly isIntrospectable: boolean;
  /** Creates the plan of an operation. Tests replace it to compare with graphql-js. */
  readonly planner?: Planner;
}

/** Longer documents, in characters, are not cached. */
const MAX_CACHED_LENGTH = 16_384;

/** Estimated heap size of a document without its plans. Measured: 270 to 480 bytes per token, plus the text. */
const BYTES_PER_TOKEN = 480;

/** Parses, validates and plans documents. Caches valid ones up to `cacheBytes` and evicts the least recently used. */
export function createDocuments({
  schema,
  cacheBytes,
  limits,
  isIntrospectable,
  planner = createPlan,
}: DocumentSettings) {
  const cache = new LRUCache<string, PreparedDocument>({
    maxSize: cacheBytes,
    sizeCalculation: ({ bytes }) => bytes(),
  });
  const rules = [
    ...specifiedRules.map((rule) => (rule === SingleFieldSubscriptionsRule ? subscriptionRootRule : rule)),
    ...limitRules(limits),
    ...(isIntrospectable ? [] : [NoSchemaIntrospectionCustomRule]),
  ];

  const parse = (text: string): DocumentNode => {
    try {
      return parseBounded(text, limits.tokens);
    } catch (error) {
      throw error instanceof GraphQLError ? requestError(error, "GRAPHQL_PARSE_FAILED") : error;
    }
  };

  const open = (text: string): PreparedDocument => {
    const document = parse(text);
    const plans = new Map<string, Plan>();
    let errors: readonly GraphQLError[] | null = null;
    let bytes = (document.tokenCount ?? 0) * BYTES_PER_TOKEN + text.length * BYTES_PER_CHARACTER;
    const grow = (more: number): void => {
      bytes += more;
      if (cache.peek(text) !== prepared) return;
      // The cache weighs an entry only when it is added.
      cache.delete(text);
      cache.set(text, prepared);
    };
    const prepared: PreparedDocument = {
      document,
      bytes: () => bytes,
      validationErrors: () => {
        if (errors) return errors;
        errors = validate(schema, document, rules).map((error) =>
          requestError(error, "GRAPHQL_VALIDATION_FAILED"),
        );
        if (errors.length === 0 && text.length <= MAX_CACHED_LENGTH) cache.set(text, prepared);
        return errors;
      },
      planOf: (operationName) => {
        const operation = getOperationAST(document, operationName);
        if (!operation) return null;
        const name = operation.name?.value ?? "";
        const plan = plans.get(name) ?? planner(schema, document, operation, grow);
        plans.set(name, plan);
        return plan;
      },
    };
    return prepared;
  };

  return {
    /** Throws `GraphQLError` when the text cannot be parsed. */
    prepare: (text: string): PreparedDocument => cache.get(text) ?? open(text),
  };
}

/** Adds a code and its status to a document's error, unless the error has its own. */
const requestError = (error: GraphQLError, code: ErrorCode): GraphQLError =>
  withExtensions(error, { code, http: { spec: true, status: statusOf(code) }, ...error.extensions });
