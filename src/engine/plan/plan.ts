import {
  type DocumentNode,
  type ExecutionResult,
  getDirectiveValues,
  getVariableValues,
  GraphQLError,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  visit,
} from "graphql";
import { textOf } from "../documents/parse.ts";
import type { TracedContext, Variables } from "../field-extensions.ts";
import { type Fragments, fragmentsOf } from "../limits.ts";
import type { Meter } from "../meter.ts";
import { createCompilation } from "./compile.ts";
import { createIncrementalDirectives } from "./collect.ts";
import { deliverIncrementally } from "./incremental.ts";
import type { IncrementalPayloads } from "./incremental-payloads.ts";
import { endPending, executeFields } from "./execute.ts";
import type { Container, ExecutionContext, ExecutionBehavior, Selection, ResultSlots } from "./types.ts";

/** An executable operation. Its selections are compiled on first use. */
export interface Plan {
  readonly operation: OperationDefinitionNode;
  readonly fragments: Fragments;
  /** `event`: the event of a subscription, which is the parent of the root fields. */
  readonly execute: (
    given: Variables,
    context: TracedContext,
    meter: Meter,
    event: unknown,
    /**
     * Called at most once, with the result, which may be incomplete if the meter has stopped the operation. `payloads` deliver the parts
     * that `@defer` and `@stream` leave out of the result.
     */
    onResult: (result: ExecutionResult, payloads?: IncrementalPayloads | null) => void,
    behavior: ExecutionBehavior,
  ) => void;
}

export type Planner = (
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  /** Receives the number of heap bytes by which the plan has grown. */
  onCompiled: (bytes: number) => void,
  /** Whether error messages leave out suggestions of schema names ("Did you mean …?"). */
  hideSuggestions: boolean,
) => Plan;

/**
 * Creates the plan of an operation. Own code, because executors traverse the document again for each request and wrap each value in
 * promises. The package graphql-jit takes longer to compile an operation than most operations take to run, and can run the wrong one of two
 * operations.
 */
export const createPlan: Planner = (schema, document, operation, onCompiled, hideSuggestions) => {
  const fragments = fragmentsOf(document);
  const { conditions, hasIncremental } = directivesOf(document);
  /** Root selections, by the values of the variables in directives. */
  const roots = new Map<string, Selection>();
  const rootType = schema.getRootType(operation.operation);

  const rootFor = (variables: Variables, isIncremental: boolean): Selection => {
    // Null must differ from true and false here, because evaluating a null condition throws.
    const combination = [...conditions.map((name) => String(variables[name])), isIncremental].join();
    const known = roots.get(combination);
    if (known) return known;
    if (!rootType)
      throw new GraphQLError(`Schema is not configured to execute ${operation.operation} operation.`);
    const shouldIncludeNode = (node: SelectionNode): boolean =>
      !node.directives?.length ||
      (getDirectiveValues(GraphQLSkipDirective, node, variables)?.["if"] !== true &&
        getDirectiveValues(GraphQLIncludeDirective, node, variables)?.["if"] !== false);
    const deferral = isIncremental
      ? createIncrementalDirectives(schema, fragments, variables, operation)
      : null;
    const { compiled } = createCompilation({ schema, fragments, shouldIncludeNode, deferral, onCompiled });
    const { selectionSet } = operation;
    const root = compiled(rootType, selectionSet, [selectionSet]);
    roots.set(combination, root);
    return root;
  };

  return {
    operation,
    fragments,
    execute: (given, context, meter, event, onResult, { onError, isIncremental }) => {
      const deliversIncrementally = isIncremental && hasIncremental;
      const definitions = operation.variableDefinitions ?? [];
      const { errors, coerced } =
        definitions.length > 0
          ? getVariableValues(schema, definitions, given, { maxErrors: MAX_VARIABLE_ERRORS, hideSuggestions })
          : NO_VARIABLES;
      if (errors) return onResult({ errors });
      let root: Selection;
      try {
        root = rootFor(coerced, deliversIncrementally);
      } catch (error) {
        if (!(error instanceof GraphQLError)) throw error;
        return onResult({ errors: [error], data: null });
      }
      const data = root.createObject();
      const result: { data: ResultSlots | null } = { data };
      const failures: GraphQLError[] = [];
      const container = { parent: null, slots: result, at: "data", isNullable: true, isNulled: false };
      const halt = (error: GraphQLError): void => {
        onResult({ errors: [error], data: null });
        meter.stop(error);
      };
      const deferredWork: ExecutionContext["deferredWork"] = deliversIncrementally ? [] : null;
      const onEnd = () => {
        const whole = failures.length === 0 ? result : { errors: failures, ...result };
        if (!deferredWork || deferredWork.length === 0) return onResult(whole);
        deliverIncrementally(execution, result.data, (payloads) => onResult(whole, payloads));
      };
      const execution: ExecutionContext = {
        context,
        variables: coerced,
        meter,
        onError,
        halt,
        errors: failures,
        completed: new Map(),
        pending: 1,
        onEnd,
        deferredWork,
      };
      const { deferred } = root;
      if (deferred.length > 0)
        deferredWork?.push({ fragments: deferred, object: event, field: null, container });
      if (operation.operation === "mutation") return executeSerially(root, data, container, execution);
      executeFields(root, event, container, data, execution);
      endPending(execution);
    },
  };
};

/** Maximum errors about variables. graphql-js writes the whole value into each message, and the gateway removes it again. */
export const MAX_VARIABLE_ERRORS = 5;
const NO_VARIABLES = { errors: undefined, coerced: {} };

/** The variables in the `if` arguments of directives, and whether a document contains `@defer` or `@stream`. */
function directivesOf(document: DocumentNode) {
  const conditions = new Set<string>();
  const found = new Set<string>();
  // Most documents have no directive, and visiting a document takes longer than parsing it.
  if (textOf(document)?.includes("@") !== false)
    visit(document, {
      Directive: ({ name, arguments: given = [] }) => {
        if (!CONDITIONAL.has(name.value)) return;
        found.add(name.value);
        for (const { name: argument, value } of given)
          if (argument.value === "if" && value.kind === Kind.VARIABLE) conditions.add(value.name.value);
      },
    });
  return { conditions: [...conditions], hasIncremental: found.has("defer") || found.has("stream") };
}

const CONDITIONAL = new Set(["skip", "include", "defer", "stream"]);

function executeSerially(
  { fields, ...root }: Selection,
  data: ResultSlots,
  container: Container,
  whole: ExecutionContext,
): void {
  const [field, ...rest] = fields;
  if (!field || container.isNulled) return endPending(whole);
  const execution: ExecutionContext = {
    ...whole,
    // Each root field starts without completed objects, because a command may have changed their records.
    completed: new Map(),
    pending: 1,
    onEnd: () => executeSerially({ ...root, fields: rest }, data, container, whole),
  };
  executeFields({ ...root, fields: [field] }, undefined, container, data, execution);
  endPending(execution);
}
