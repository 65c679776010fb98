import type { ServerResponse } from "node:http";
import {
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  type ValidationRule,
} from "graphql";
import type { Plugin, YogaInitialContext } from "graphql-yoga";
import { callerOf } from "./caller.ts";
import { withExtensions, withoutLiterals, withoutSuggestions } from "./graphql/errors.ts";
import type { OperationReport } from "./telemetry.ts";
import { inSpan } from "./tracing.ts";

/** What is known of a request from its beginning to its end. */
interface Course {
  readonly began: number;
  readonly over: AbortController;
  type: OperationReport["type"];
  name: string | null;
}

const courses = new WeakMap<Request, Course>();

function courseOf(request: Request): Course {
  const known = courses.get(request);
  if (known) return known;
  const course: Course = {
    began: performance.now(),
    over: new AbortController(),
    type: "invalid",
    name: null,
  };
  courses.set(request, course);
  return course;
}

/**
 * Fires when the answer is complete, and when the caller leaves before. Told by node's own response: the adapter's
 * `request.signal` is an imitation that `AbortSignal.any` does not follow on every Node.
 */
export function endOf(request: Request, response: ServerResponse): AbortSignal {
  const { over } = courseOf(request);
  response.once("close", () => over.abort());
  return over.signal;
}

const requestOf = (context: unknown): Request => (context as YogaInitialContext).request;

/** What is still on its way to the service when the answer is complete was asked early and is not needed: it is cancelled. */
export function useEndOfRequest(): Plugin {
  return {
    onExecute: ({ args }) => ({
      onExecuteDone: () => courseOf(requestOf(args.contextValue)).over.abort(),
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
export function useReports(tell: (report: OperationReport) => void): Plugin {
  return {
    onParams({ request }) {
      courseOf(request);
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      const course = courseOf(requestOf(args.contextValue));
      const operation = getOperationAST(args.document, args.operationName);
      course.type = operation?.operation ?? "invalid";
      course.name = operation?.name?.value.slice(0, LONGEST_NAME) ?? null;
      const attributes = {
        "graphql.operation.type": course.type,
        "graphql.operation.name": course.name ?? "",
      };
      setExecuteFn((given: ExecutionArgs) =>
        inSpan(`graphql ${course.type}`, attributes, async () => executeFn(given)),
      );
    },
    onExecutionResult({ request, result }) {
      const { began, type, name } = courseOf(request);
      const errors = (result as ExecutionResult | undefined)?.errors ?? [];
      const codes = [...new Set(errors.map(({ extensions }) => String(extensions["code"] ?? "UNKNOWN")))];
      tell({ requestId: callerOf(request).requestId, type, name, codes, ms: performance.now() - began });
    },
  };
}

/**
 * What is said last of every answer: that nobody may keep it, and the request id, in its header and in each error. Without introspection errors
 * lose their "did you mean": no message may tell names of the schema then.
 */
export function useLastWords({ suggestions }: { readonly suggestions: boolean }): Plugin {
  return {
    onResultProcess({ request, result, setResult }) {
      if (!("errors" in result) || !result.errors) return;
      const { requestId } = callerOf(request);
      const errors = result.errors
        .map(withoutLiterals)
        .map((error: GraphQLError) =>
          withExtensions(suggestions ? error : withoutSuggestions(error), { requestId }),
        );
      setResult({ ...result, errors });
    },
    onResponse({ request, response }) {
      response.headers.set("x-request-id", callerOf(request).requestId);
      // Queries come by GET, too, and their answers are the caller's own.
      response.headers.set("cache-control", "private, no-store");
    },
  };
}
