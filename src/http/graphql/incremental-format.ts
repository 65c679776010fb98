import type { ExecutionResult, GraphQLError } from "graphql";
import type { EngineResult } from "../../engine/engine.ts";
import type { IncrementalResult, IncrementalPayloads } from "../../engine/plan/incremental-payloads.ts";
import { DONE, mapAsyncIterator } from "../../util/async-iterators.ts";
import { toJson } from "./encoding.ts";

/*
 * The two formats of incremental delivery: the format of graphql-js 17 (`pending`, `incremental`, `completed`) and the format of August
 * 2022. Own code, because Yoga's plugin for incremental delivery needs graphql-js 17 as the executor.
 */

interface Encoding {
  readonly isOlder: boolean;
  readonly finalize: (result: ExecutionResult) => ExecutionResult;
  readonly extensions: (() => object | null) | null;
}

/** The messages of an incremental result. `return` stops the operation. Calls `onEnd` once, after the last message or on `return`. */
export function incrementalMessages(
  { errors, data }: EngineResult,
  payloads: IncrementalPayloads,
  { isOlder, finalize, extensions }: Encoding,
  onEnd = () => {},
): AsyncIterableIterator<object> {
  const errorsOf = (given: readonly GraphQLError[]) => (finalize({ errors: given }).errors ?? []).map(toJson);
  const extended = (isIncluded: boolean) => {
    const about = isIncluded ? (extensions?.() ?? null) : null;
    return about && { extensions: about };
  };
  async function* make(): AsyncGenerator<object, undefined> {
    const announced = isOlder ? {} : { pending: payloads.pending() };
    yield { ...withErrors(errors, errorsOf), data, ...announced, hasNext: true, ...extended(true) };
    for (let payload = await payloads.next(); payload; payload = await payloads.next()) {
      const { delivered, hasNext } = payload;
      const lists = isOlder ? olderFormatOf(delivered, errorsOf) : formatOf(delivered, errorsOf);
      if (!hasNext || Object.keys(lists).length > 0) yield { ...lists, hasNext, ...extended(!hasNext) };
    }
  }
  const messages = make();
  const end = async () => (payloads.return(), DONE);
  return mapAsyncIterator<object>({ next: () => messages.next(), return: end }, (message) => message, onEnd);
}

type ErrorsOf = (errors: readonly GraphQLError[]) => readonly object[];

const withErrors = (errors: readonly GraphQLError[] | undefined, errorsOf: ErrorsOf) =>
  errors && errors.length > 0 && { errors: errorsOf(errors) };

/** The format of graphql-js 17, without empty lists. */
function formatOf(delivered: readonly IncrementalResult[], errorsOf: ErrorsOf): object {
  const lists = {
    pending: delivered.flatMap(({ pending }) => pending),
    incremental: delivered.flatMap(({ part: { id }, data, items, errors }) => {
      if (items) return { id, items, ...withErrors(errors, errorsOf) };
      return data ? { id, data, ...withErrors(errors, errorsOf) } : [];
    }),
    completed: delivered.flatMap(({ part: { id }, data, items, errors, isLast }) =>
      isLast ? { id, ...(!data && !items && withErrors(errors, errorsOf)) } : [],
    ),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** The format of August 2022: each part with its path and label. The data of a failed part is null. */
function olderFormatOf(delivered: readonly IncrementalResult[], errorsOf: ErrorsOf): object {
  const incremental = delivered.flatMap(({ part: { path, label }, data, items, from = 0, errors }) => {
    if (data === undefined && items === undefined) return [];
    const value = items === undefined ? { data, path } : { items, path: [...path, from] };
    return { ...value, ...(label !== undefined && { label }), ...withErrors(errors, errorsOf) };
  });
  return incremental.length > 0 ? { incremental } : {};
}
