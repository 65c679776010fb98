import { hash } from "node:crypto";
import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
  ValuesOfCorrectTypeRule,
  type ValidationRule,
} from "graphql";
import { LRUCache } from "lru-cache";
import { documentError, withExtensions } from "../errors.ts";
import { type OperationLimits, parseBounded } from "../limits/document.ts";
import { laterRule } from "../limits/later.ts";
import { streamedOnceRule } from "../limits/streamed-once.ts";
import { BYTES_PER_CHARACTER } from "./persisted.ts";
import { createPlan, type Plan, type Planner } from "../plan/plan.ts";

/** A document that does not validate against the schema. */
export class InvalidDocument extends Error {
  readonly validationErrors: readonly GraphQLError[];

  constructor(validationErrors: readonly GraphQLError[]) {
    super("invalid document");
    this.validationErrors = validationErrors;
  }
}

/** A parsed document. */
export interface PreparedDocument {
  readonly document: DocumentNode;
  /** SHA-256 of its text, in hexadecimal. */
  readonly hash: string;
  /** Estimated heap size with its plans, which grow while they run. */
  readonly bytes: () => number;
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

/** Estimated heap size of a document without its plans. Measured: 270 to 480 bytes per token, plus the text. */
const BYTES_PER_TOKEN = 480;

/** Wrong values have the code that they have as variables. */
const valuesRule: ValidationRule = (context) =>
  ValuesOfCorrectTypeRule(
    Object.create(context, {
      reportError: {
        value: (error: GraphQLError) =>
          context.reportError(withExtensions(error, { ...error.extensions, code: "BAD_USER_INPUT" })),
      },
    }),
  );

/** Maximum errors of an invalid document. Each takes as long as the validation of 20 fields. */
const MAX_VALIDATION_ERRORS = 20;

/** How many documents are known to have been read once. */
const MAX_READ_ONCE = 1_000;

/**
 * Parses, validates and plans documents. Caches valid ones from the second time on, up to `cacheBytes`, and evicts the least
 * recently used.
 */
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
  /** Hashes of valid documents that are not cached. */
  const readOnce = new LRUCache<string, true>({ max: MAX_READ_ONCE });
  const rules = [
    ...specifiedRules.map((rule) => (rule === ValuesOfCorrectTypeRule ? valuesRule : rule)),
    laterRule,
    streamedOnceRule,
    ...(isIntrospectable ? [] : [NoSchemaIntrospectionCustomRule]),
  ];

  const parseText = (text: string): DocumentNode => {
    try {
      return parseBounded(text, schema, limits);
    } catch (error) {
      throw error instanceof GraphQLError ? documentError(error, "GRAPHQL_PARSE_FAILED") : error;
    }
  };

  const parse = (text: string): PreparedDocument => {
    const document = parseText(text);
    const plans = new Map<string, Plan>();
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
      hash: hash("sha256", text),
      bytes: () => bytes,
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
    /** The document of a text when it is known to be valid, otherwise null. */
    known: (text: string): PreparedDocument | null => cache.get(text) ?? null,
    /** Parses a text. Throws `GraphQLError` when it is no document, or one that is too costly to validate. */
    parse,
    /** Validates a document and caches it if it is sent again. Throws `InvalidDocument`. */
    validate: (text: string, prepared: PreparedDocument): void => {
      const errors = validate(schema, prepared.document, rules, { maxErrors: MAX_VALIDATION_ERRORS });
      if (errors.length > 0)
        throw new InvalidDocument(errors.map((error) => documentError(error, "GRAPHQL_VALIDATION_FAILED")));
      // Some clients write each document anew: they would take the places of documents that are sent again.
      if (readOnce.has(prepared.hash)) cache.set(text, prepared);
      else readOnce.set(prepared.hash, true);
    },
  };
}
