import { hash } from "node:crypto";
import {
  type DocumentNode,
  ExecutableDefinitionsRule,
  getOperationAST,
  type GraphQLError,
  type GraphQLSchema,
  isExecutableDefinitionNode,
  Kind,
  KnownDirectivesRule,
  NoSchemaIntrospectionCustomRule,
  NoUndefinedVariablesRule,
  NoUnusedVariablesRule,
  OperationTypeNode,
  specifiedRules,
  UniqueDirectivesPerLocationRule,
  UniqueVariableNamesRule,
  validate,
  ValuesOfCorrectTypeRule,
  type ValidationRule,
  VariablesAreInputTypesRule,
  VariablesInAllowedPositionRule,
} from "graphql";
import { LRUCache } from "lru-cache";
import { documentError, rejection, withExtensions } from "../errors.ts";
import { type OperationLimits, parseBounded } from "../limits.ts";
import { incrementalRule, streamedOnceRule } from "./incremental-rules.ts";
import { DOCUMENT_CHARACTER_BYTES, type OperationParams } from "./persisted.ts";
import { createPlan, type Plan, type Planner } from "../plan/plan.ts";

export class InvalidDocument extends AggregateError {}

export interface PreparedDocument {
  readonly document: DocumentNode;
  /** SHA-256 of the document, in hexadecimal. */
  readonly hash: string;
  /** Estimated heap size of the document and its plans, in bytes. Plans grow while they are executed. */
  readonly bytes: () => number;
  /**
   * The plan of an operation. Throws when no operation has that name, when the name is missing and there are several operations, and when
   * the operation is a mutation although `isReadOnly` is set.
   */
  readonly planOf: (operationName: OperationName, isReadOnly: boolean) => Plan;
}

type OperationName = OperationParams["operationName"];

export interface DocumentSettings {
  readonly schema: GraphQLSchema;
  readonly cacheBytes: number;
  readonly limits: OperationLimits;
  readonly isIntrospectable: boolean;
  readonly planner?: Planner | undefined;
}

/** Heap size of a document for each token, without its source and plans. Measured: 270 to 480 bytes. */
const BYTES_PER_TOKEN = 480;

/** Reports invalid literals with the same error code as invalid variables. */
const valuesRule: ValidationRule = (context) =>
  ValuesOfCorrectTypeRule(
    Object.create(context, {
      reportError: {
        value: (error: GraphQLError) =>
          context.reportError(withExtensions(error, { ...error.extensions, code: "BAD_USER_INPUT" })),
      },
    }),
  );

/**
 * The rules that a document without a certain character cannot break: the rules about variables by `$`, and the rules about directives by
 * `@`. Skipping them saves time, because each rule visits every node, and the rules about variables visit a document again for each of its
 * operations and fragments.
 */
const RULES_OF: ReadonlyMap<string, readonly ValidationRule[]> = new Map([
  [
    "$",
    [
      NoUndefinedVariablesRule,
      NoUnusedVariablesRule,
      UniqueVariableNamesRule,
      VariablesAreInputTypesRule,
      VariablesInAllowedPositionRule,
    ],
  ],
  ["@", [KnownDirectivesRule, UniqueDirectivesPerLocationRule, incrementalRule, streamedOnceRule]],
]);

/** Maximum errors of an invalid document. An error takes as long as the validation of 20 fields. */
const MAX_VALIDATION_ERRORS = 20;

/** Maximum hashes of valid documents that are remembered before the documents are cached. */
const MAX_READ_ONCE = 1_000;

/**
 * Parses, validates and plans documents. Caches valid documents from their second use on, up to `cacheBytes`, and evicts the least recently
 * used.
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
    incrementalRule,
    streamedOnceRule,
    ...(isIntrospectable ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
  const rulesFor = (text: string): ValidationRule[] => {
    const skipped = [...RULES_OF].flatMap(([sign, ofSign]) => (text.includes(sign) ? [] : ofSign));
    return skipped.length === 0 ? rules : rules.filter((rule) => !skipped.includes(rule));
  };

  const parse = (text: string): PreparedDocument => {
    const document = parseBounded(text, schema, limits);
    const plans = new Map<string, Plan>();
    let bytes = (document.tokenCount ?? 0) * BYTES_PER_TOKEN + text.length * DOCUMENT_CHARACTER_BYTES;
    const grow = (more: number): void => {
      bytes += more;
      if (cache.peek(text) !== prepared) return;
      // The entry is added again, because the cache measures an entry only when it is added.
      cache.delete(text);
      cache.set(text, prepared);
    };
    const prepared: PreparedDocument = {
      document,
      hash: hash("sha256", text),
      bytes: () => bytes,
      planOf: (operationName, isReadOnly) => {
        const operation = getOperationAST(document, operationName);
        if (!operation) throw missingOperation(document, operationName);
        if (isReadOnly && operation.operation === OperationTypeNode.MUTATION) throw READ_ONLY;
        const name = operation.name?.value ?? "";
        const plan = plans.get(name) ?? planner(schema, document, operation, grow, !isIntrospectable);
        plans.set(name, plan);
        return plan;
      },
    };
    return prepared;
  };

  return {
    /** Returns the cached document of a source; null if it is not cached. A cached document is valid. */
    known: (text: string): PreparedDocument | null => cache.get(text) ?? null,
    /** Parses a document. Throws `GraphQLError` if it is invalid, or too costly to validate. */
    parse,
    /** Validates a document, and caches it from its second use on. Throws `InvalidDocument`. */
    validate: (text: string, prepared: PreparedDocument): void => {
      const options = { maxErrors: MAX_VALIDATION_ERRORS, hideSuggestions: !isIntrospectable };
      const { document } = prepared;
      // If a document defines types, only this rule runs: other rules would compare unknown types with the defined types by edit distance,
      // which takes quadratic time.
      const isExecutable = document.definitions.every(isExecutableDefinitionNode);
      const applied = isExecutable ? rulesFor(text) : [ExecutableDefinitionsRule];
      const errors = validate(schema, document, applied, options);
      if (errors.length > 0)
        throw new InvalidDocument(errors.map((error) => documentError(error, "GRAPHQL_VALIDATION_FAILED")));
      // Some clients send a different document each time. Such documents must not evict documents that are sent again.
      if (readOnce.has(prepared.hash)) cache.set(text, prepared);
      else readOnce.set(prepared.hash, true);
    },
  };
}

const READ_ONLY = rejection("Can only perform a mutation operation from a POST request.", "BAD_REQUEST", {
  status: 405,
  headers: { Allow: "POST" },
});

const MAX_LISTED_OPERATIONS = 10;

/** The error of a document that lacks the requested operation. The message suggests the operations of the document. */
function missingOperation({ definitions }: DocumentNode, operationName: OperationName): GraphQLError {
  const names = definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? [definition.name?.value ?? null] : [],
  );
  const known = names.filter((name) => name !== null).slice(0, MAX_LISTED_OPERATIONS);
  const suggestion =
    known.length === 0 ? "" : ` Did you mean ${known.map((name) => `"${name}"`).join(", ")}?`;
  return rejection(`${problemOf(names.length, operationName)}${suggestion}`, "OPERATION_RESOLUTION_FAILURE");
}

function problemOf(operations: number, operationName: OperationName): string {
  if (operations === 0) return "Expected an operation, got a document without one.";
  if (operationName == null)
    return `Expected operationName, because the document has ${operations} operations.`;
  // A string that is not a GraphQL name does not help the reader of the message.
  const got = /^\w{1,100}$/.test(operationName)
    ? `"${operationName}"`
    : "a name that is invalid or longer than 100 characters";
  return `Expected operationName to be the name of an operation of the document, got ${got}.`;
}
