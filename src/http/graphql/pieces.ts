import type { ExecutionResult, GraphQLError } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { EngineResult } from "../../engine/engine.ts";
import type { PublicPieces } from "../../engine/incremental.ts";
import type { Delivered, Path, Pending, Piece } from "../../engine/plan/pieces.ts";
import { COMPLETE, headersOf } from "./event-stream.ts";
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
  frame: (json) => `event: next\ndata: ${json}\n\n`,
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
export type FirstResult = EngineResult & { readonly pieces: PublicPieces };

/** One message of a result in pieces. */
interface Message {
  readonly message: object;
  readonly isLast: boolean;
}

/** The body of a result in pieces. Stops the operation when nobody reads on. */
export async function* bodyOf(
  result: FirstResult,
  { ends: [first, last], frame, isOlder }: PieceForm,
  encoding: Encoding,
): AsyncGenerator<Buffer> {
  let before = first;
  for await (const { message, isLast } of messagesOf(result, isOlder, encoding)) {
    yield Buffer.from(before + frame(JSON.stringify(message)) + (isLast ? last : ""));
    before = "";
  }
}

/** The messages of a result in pieces. Stops the operation when nobody reads on. */
export async function* messagesOf(
  { pieces, ...result }: FirstResult,
  isOlder: boolean,
  { finish, extensions }: Encoding,
): AsyncGenerator<Message> {
  const told = new Map(pieces.pending.map((part) => [part.id, part]));
  const errorsOf = (errors: readonly GraphQLError[]) => (finish({ errors }).errors ?? []).map(toJson);
  const extended = (isTold: boolean) => {
    const about = isTold ? (extensions?.() ?? null) : null;
    return about && { extensions: about };
  };
  try {
    const { errors, data } = result;
    const announced = isOlder ? {} : { pending: pieces.pending };
    const whole = { ...withErrors(errors, errorsOf), data, ...announced, hasNext: true, ...extended(true) };
    yield { message: whole, isLast: false };
    for (let piece = await pieces.next(); piece; piece = await pieces.next()) {
      for (const part of piece.pending) told.set(part.id, part);
      const { hasNext } = piece;
      const parts = isOlder ? olderPartsOf(piece, told, errorsOf) : partsOf(piece, errorsOf);
      if (hasNext && Object.keys(parts).length === 0) continue;
      yield { message: { ...parts, hasNext, ...extended(!hasNext) }, isLast: !hasNext };
    }
  } finally {
    pieces.return();
  }
}

type ErrorsOf = (errors: readonly GraphQLError[]) => readonly object[];

const withErrors = (errors: readonly GraphQLError[] | undefined, errorsOf: ErrorsOf) =>
  errors && { errors: errorsOf(errors) };

/** A piece as graphql-js 17 writes it, without empty lists. */
function partsOf({ pending, incremental, completed }: Piece, errorsOf: ErrorsOf): object {
  return {
    ...(pending.length > 0 && { pending }),
    ...(incremental.length > 0 && {
      incremental: incremental.map(({ id, subPath, data, items, errors }) => ({
        id,
        ...(subPath && { subPath }),
        ...(items ? { items } : { data }),
        ...withErrors(errors, errorsOf),
      })),
    }),
    ...(completed.length > 0 && {
      completed: completed.map(({ id, errors }) => ({ id, ...withErrors(errors, errorsOf) })),
    }),
  };
}

/** A piece as of August 2022: each part with its path and label, null when it failed. */
function olderPartsOf(
  { incremental, completed }: Piece,
  told: ReadonlyMap<string, Pending>,
  errorsOf: ErrorsOf,
): object {
  const placed = (id: string, below: Path) => {
    const { path = [], label } = told.get(id) ?? {};
    return { path: [...path, ...below], ...(label !== undefined && { label }) };
  };
  const delivered = ({ id, subPath = [], data, items, from = 0, errors }: Delivered) => ({
    ...(items ? { items, ...placed(id, [from]) } : { data, ...placed(id, subPath) }),
    ...withErrors(errors, errorsOf),
  });
  const failed = completed.flatMap(({ id, errors }) =>
    errors ? { data: null, ...placed(id, []), ...withErrors(errors, errorsOf) } : [],
  );
  const parts = [...incremental.map(delivered), ...failed];
  return parts.length > 0 ? { incremental: parts } : {};
}

/** Whether a document may have `@defer` or `@stream`. Where a hash stands for it, that is not known here. */
export const mayBeIncremental = ({ query }: OperationParams): boolean =>
  query == null || /@(?:defer|stream)/.test(query);
