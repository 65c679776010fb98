import type { ExecutionResult, GraphQLError } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { EngineResult } from "../../engine/engine.ts";
import type { Delivered, Pieces } from "../../engine/plan/pieces.ts";
import { COMPLETE, eventOf, headersOf } from "./event-stream.ts";
import { PRIVATE, toJson } from "./encoding.ts";

/*
 * Results in pieces over HTTP: `multipart/mixed` as "Incremental Delivery over HTTP" has it, or an event stream. The pieces
 * are those of graphql-js 17 (`pending`, `incremental`, `completed`), or for `deferSpec=20220824` those of August 2022. Own
 * code: Yoga's plugin for them needs graphql-js 17 as the executor.
 */

/** How a caller accepts a result in pieces. */
export interface PieceForm {
  readonly headers: (requestId: string) => Readonly<Record<string, string>>;
  /** Whether the body may be compressed. */
  readonly isCompressible: boolean;
  /** The text before the first piece, and after the last one. */
  readonly ends: readonly [first: string, last: string];
  readonly frame: (json: string) => string;
  readonly isOlder: boolean;
}

const DELIMITER = "\r\n---";

const multipart = (parameter: string, isOlder: boolean): PieceForm => ({
  headers: (requestId) => ({
    "content-type": `multipart/mixed; boundary="-"${parameter}`,
    "cache-control": PRIVATE,
    vary: "accept-encoding",
    "x-accel-buffering": "no",
    "x-request-id": requestId,
  }),
  isCompressible: true,
  ends: ["---", "--\r\n"],
  // With the delimiter behind it: clients read a part when they see its end.
  frame: (json) => `\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${json}${DELIMITER}`,
  isOlder,
});

const EVENT_STREAM: PieceForm = {
  headers: headersOf,
  isCompressible: false,
  ends: ["", COMPLETE],
  frame: eventOf,
  isOlder: false,
};

/** Media types of results in pieces, the preferred ones first, without white space. */
const FORMS: readonly (readonly [range: RegExp, form: PieceForm])[] = [
  // Apollo Client's `Defer20220824Handler`, which it has by default in version 3, and its `GraphQL17Alpha9Handler`.
  [/^multipart\/mixed(?=.*;deferspec="?20220824"?(?:;|$))/, multipart("; deferSpec=20220824", true)],
  [/^multipart\/mixed(?=.*;incrementalspec="?v0\.2"?(?:;|$))/, multipart("; incrementalSpec=v0.2", false)],
  [/^multipart\/mixed(?!.*;\w+spec=)/, multipart("", false)],
  [/^text\/event-stream/, EVENT_STREAM],
];

/** The form in which a caller accepts results in pieces; null when it accepts none. */
export function pieceFormFor(accept: string | undefined): PieceForm | null {
  if (!accept || !/multipart\/mixed|text\/event-stream/i.test(accept)) return null;
  const ranges = accept
    .replaceAll(/\s/g, "")
    .toLowerCase()
    .split(",")
    .filter((range) => !/;q=0(?:\.0*)?(?:;|$)/.test(range));
  return FORMS.find(([known]) => ranges.some((range) => known.test(range)))?.[1] ?? null;
}

export interface Encoding {
  /** Finalizes errors. */
  readonly finish: (result: ExecutionResult) => ExecutionResult;
  readonly extensions: (() => object | null) | null;
}

/** A result of which parts follow. */
export type FirstResult = EngineResult & { readonly pieces: Pieces };

/** The body of a result in pieces. Stops the operation when nobody reads on. */
export async function* bodyOf(
  result: FirstResult,
  { ends: [first, last], frame, isOlder }: PieceForm,
  encoding: Encoding,
): AsyncGenerator<Buffer> {
  let before = first;
  for await (const message of messagesOf(result, isOlder, encoding)) {
    yield Buffer.from(before + frame(JSON.stringify(message)) + (message.hasNext ? "" : last));
    before = "";
  }
}

/** One message of a result in pieces. */
interface Message {
  readonly hasNext: boolean;
  readonly data?: unknown;
}

/** The messages of a result in pieces. Stops the operation when nobody reads on. */
export async function* messagesOf(
  { pieces, ...result }: FirstResult,
  isOlder: boolean,
  { finish, extensions }: Encoding,
): AsyncGenerator<Message> {
  const errorsOf = (errors: readonly GraphQLError[]) => (finish({ errors }).errors ?? []).map(toJson);
  const extended = (isTold: boolean) => {
    const about = isTold ? (extensions?.() ?? null) : null;
    return about && { extensions: about };
  };
  try {
    const { errors, data } = result;
    const announced = isOlder ? {} : { pending: pieces.pending() };
    yield {
      ...withErrors(errors, errorsOf),
      data,
      ...announced,
      hasNext: true,
      ...extended(true),
    };
    for (let piece = await pieces.next(); piece; piece = await pieces.next()) {
      const { delivered, hasNext } = piece;
      const parts = isOlder ? olderPartsOf(delivered, errorsOf) : partsOf(delivered, errorsOf);
      if (hasNext && Object.keys(parts).length === 0) continue;
      yield { ...parts, hasNext, ...extended(!hasNext) };
    }
  } finally {
    pieces.return();
  }
}

type ErrorsOf = (errors: readonly GraphQLError[]) => readonly object[];

const withErrors = (errors: readonly GraphQLError[] | undefined, errorsOf: ErrorsOf) =>
  errors && errors.length > 0 && { errors: errorsOf(errors) };

/** What is delivered as graphql-js 17 writes it, without empty lists. */
function partsOf(delivered: readonly Delivered[], errorsOf: ErrorsOf): object {
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

/** What is delivered as of August 2022: each part with its path and label, null when it failed. */
function olderPartsOf(delivered: readonly Delivered[], errorsOf: ErrorsOf): object {
  const incremental = delivered.flatMap(({ part: { path, label }, data, items, from = 0, errors }) => {
    if (data === undefined && items === undefined) return [];
    const value = items === undefined ? { data, path } : { items, path: [...path, from] };
    return { ...value, ...(label !== undefined && { label }), ...withErrors(errors, errorsOf) };
  });
  return incremental.length > 0 ? { incremental } : {};
}

/** Whether a document may have `@defer` or `@stream`. Where a hash stands for it, that is not known here. */
export const mayBeIncremental = ({ query }: OperationParams): boolean =>
  query == null || /@(?:defer|stream)/.test(query);
