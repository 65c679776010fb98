import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
} from "graphql";
import type { MemoryReservation } from "../callers/memory-budget.ts";
import type { RequestScope } from "../callers/request-scope.ts";
import { DONE } from "../util/async-iterators.ts";
import type { OperationParams } from "./documents/persisted.ts";
import type { TracedContext } from "./field-extensions.ts";
import type { Meter } from "./meter.ts";
import { MAX_VARIABLE_ERRORS } from "./plan/plan.ts";

/** The scope and context in which one event is executed. */
export interface EventExecution {
  readonly scope: RequestScope;
  /** Creates the context of the resolvers. Throws when the operation gets no permit. */
  readonly openContext: (meter: Meter) => TracedContext;
}

export interface StreamSource {
  readonly params: OperationParams;
  /** Opens the stream, once the document is valid. Throws when there are too many streams. */
  readonly openStream: () => OpenStream;
}

interface OpenedSource extends StreamSource {
  /** The reservation for the memory of the document; null if other operations share the document. */
  readonly reservation: MemoryReservation | null;
  /** Whether errors suggest no names of the schema. */
  readonly hideSuggestions: boolean;
}

/** A running subscription of a caller. */
export interface OpenStream {
  /** The scope that ends with the stream. */
  readonly scope: RequestScope;
  /** The context in which the subscription begins. */
  readonly context: unknown;
  /** Opens the execution of an event, with a deadline of its own. */
  readonly openEvent: () => EventExecution;
}

/** The results of a subscription, one for each event. `return` ends it, even while `next` is pending. */
export type Results = Required<Pick<AsyncIterableIterator<ExecutionResult>, "next" | "return">> &
  AsyncIterable<ExecutionResult>;

/**
 * Opens the event source of a valid subscription and executes each event when its result is pulled, so that a slow
 * reader slows down its own events only.
 */
export async function openResults(
  schema: GraphQLSchema,
  document: DocumentNode,
  { params, openStream, reservation, hideSuggestions }: OpenedSource,
  executeEvent: (event: unknown, execution: EventExecution) => Promise<ExecutionResult>,
): Promise<{ readonly results: Results } | ExecutionResult> {
  const { scope, context, openEvent } = openStream();
  reservation?.transferTo(scope);
  const source = await createSourceEventStream({
    schema,
    document,
    contextValue: context,
    variableValues: params.variables ?? {},
    operationName: params.operationName ?? null,
    hideSuggestions,
    options: { maxCoercionErrors: MAX_VARIABLE_ERRORS },
  }).catch((error: unknown) => {
    scope.end("completed");
    throw error;
  });
  if (!(Symbol.asyncIterator in source)) {
    scope.end("completed");
    return source;
  }
  // Safe: the sources of all subscription fields yield events with `extensions`, which become those of the result.
  const events = source[Symbol.asyncIterator]() as AsyncIterator<Pick<ExecutionResult, "extensions">>;
  const finish = async () => {
    scope.end("completed");
    await events.return?.();
    return DONE;
  };
  const results: Results = {
    next: async () => {
      const { done, value: event } = await events.next();
      if (done) return finish();
      const execution = openEvent();
      const leave = () => execution.scope.end("disconnected");
      scope.onEnd(leave);
      try {
        const result = await executeEvent(event, execution);
        const { extensions } = event;
        return { done: false, value: extensions ? { ...result, extensions } : result };
      } finally {
        scope.offEnd(leave);
        execution.scope.end("completed");
      }
    },
    return: finish,
    [Symbol.asyncIterator]: () => results as AsyncIterator<ExecutionResult>,
  };
  return { results };
}
