import { isSliceOver, nextTurn } from "./turns.ts";

/** Values that are written in one piece: `JSON.stringify` takes about a millisecond for them. */
const PIECE = 5_000;

/** Characters that take as long as a value. */
const CHARACTERS = 100;

/** Items of a longer list that are written together when they fit into a piece. */
const ITEMS = 64;

/** Serializes the data of a result like `JSON.stringify`, but in time slices. */
export async function toJsonText(data: object): Promise<string> {
  let text = "";
  for (const piece of piecesOf(data)) {
    text += piece;
    while (isSliceOver()) await nextTurn();
  }
  return text;
}

/** An object or list by its keys or indexes. */
type Parts = Readonly<Record<string | number, unknown>>;

function* piecesOf(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null || leftOf(PIECE, value) >= 0) {
    yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    for (let from = 0; from < value.length; from += ITEMS) {
      yield from === 0 ? "[" : ",";
      yield* itemPieces(value.slice(from, from + ITEMS));
    }
    yield "]";
  } else {
    let before = "{";
    for (const key of Object.keys(value)) {
      yield `${before}${JSON.stringify(key)}:`;
      yield* piecesOf((value as Parts)[key]);
      before = ",";
    }
    yield "}";
  }
}

function* itemPieces(items: readonly unknown[]): Generator<string> {
  if (leftOf(PIECE, items) >= 0) return yield JSON.stringify(items).slice(1, -1);
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ",";
    yield* piecesOf(item);
  }
}

/** What a value leaves of a number of values; less than zero when it has more. */
function leftOf(values: number, value: unknown): number {
  if (typeof value === "string") return values - 1 - value.length / CHARACTERS;
  if (typeof value !== "object" || value === null) return values - 1;
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const { length } = keys ?? (value as readonly unknown[]);
  let left = values - length;
  for (let index = 0; left >= 0 && index < length; index++)
    left = leftOf(left, (value as Parts)[keys?.[index] ?? index]);
  return left;
}
