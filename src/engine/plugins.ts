import {
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  type ValidationRule,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import { withExtensions, withoutLiterals, withoutSuggestions } from "./errors.ts";
import { mergeFailures } from "./shared-failures.ts";
import type { RequestState } from "../http/request.ts";
import type { OperationReport } from "../observability/telemetry.ts";
import { inSpan } from "../observability/tracing.ts";

/** What Yoga is given beside the request. */
export interface ServerContext {
  readonly state: RequestState;
}

/** Yoga hands what it was given on in the context of each operation, which its types do not tell. */
const stateOf = (context: object): RequestState => (context as ServerContext).state;

/** What is still on its way to the service when the result is complete was asked early and is not needed: it is cancelled. */
export function useEndOfRequest(): Plugin<object, ServerContext> {
  return {
    onExecute: () => ({
      onExecuteDone: ({ args }) => stateOf(args.contextValue).scope.end("done"),
    }),
  };
}

/** Merges the errors of one failure, before they are masked: what they have in common is not public. */
export function useSharedFailures(): Plugin {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult }) {
        if (!("errors" in result) || !result.errors) return;
        setResult({ ...result, errors: mergeFailures(result.errors, result.data) });
      },
    }),
  };
}

/** Refuses the response name `then`: the executor takes an object with such a key for a promise. */
const noThen: ValidationRule = (context) => ({
  Field(node) {
    const name = node.alias ?? node.name;
    if (name.value === "then")
      context.reportError(new GraphQLError("Expected an alias other than `then`.", { nodes: name }));
  },
});

export function useResponseNames(): Plugin {
  return { onValidate: ({ addValidationRule }) => addValidationRule(noThen) };
}

/** Names are the caller's choice: in a log they are words of GraphQL and not long. */
const LONGEST_NAME = 100;

/** Tells of every operation when it is over, and runs it as a span. */
export function useReports(tell: (report: OperationReport) => void): Plugin<object, ServerContext> {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const state = stateOf(args.contextValue);
      const operation = getOperationAST(args.document, args.operationName);
      state.type = operation?.operation ?? "invalid";
      state.name = operation?.name?.value.slice(0, LONGEST_NAME) ?? null;
      const attributes = {
        "graphql.operation.type": state.type,
        "graphql.operation.name": state.name ?? "",
      };
      setExecuteFn((given: ExecutionArgs) =>
        inSpan(`graphql ${state.type}`, attributes, async () => executeFn(given)),
      );
    },
    onExecutionResult({ context, result }) {
      const { began, type, name, scope } = context.state;
      const errors = (result as ExecutionResult | undefined)?.errors ?? [];
      const codes = [...new Set(errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN")))];
      tell({ requestId: scope.requestId, type, name, codes, ms: performance.now() - began });
    },
  };
}

/**
 * What is said last of every answer: that nobody may keep it, and the request id, in its header and in each error. Without introspection errors
 * lose their "did you mean": no message may tell names of the schema then.
 */
export function useLastWords({
  suggestions,
}: {
  readonly suggestions: boolean;
}): Plugin<object, ServerContext> {
  return {
    onResultProcess({ serverContext, result, setResult }) {
      if (!("errors" in result) || !result.errors) return;
      const { requestId } = serverContext.state.scope;
      const errors = result.errors
        .map(withoutLiterals)
        .map((error: GraphQLError) =>
          withExtensions(suggestions ? error : withoutSuggestions(error), { requestId }),
        );
      setResult({ ...result, errors });
    },
    onResponse({ serverContext, response }) {
      response.headers.set("x-request-id", serverContext.state.scope.requestId);
      // Queries come by GET, too, and their answers are the caller's own.
      response.headers.set("cache-control", "private, no-store");
    },
  };
}
