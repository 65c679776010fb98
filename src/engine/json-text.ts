import { isSliceOver, nextTurn } from "./turns.ts";

/** One object or list that is being written. */
interface Frame {
  readonly value: Readonly<Record<string, unknown>> | readonly unknown[];
  /** The names of an object's values; null for a list. */
  readonly keys: readonly string[] | null;
  index: number;
  isEmpty: boolean;
}

/** Values written before the clock is looked at. */
const STRIDE = 500;
/** Characters of one piece. */
const PIECE = 65_536;

/**
 * What `JSON.stringify` gives, with turns of the event loop while it is made, and without calling itself: a value may be
 * nested deeper than the stack is. Own code: packages that write JSON as a stream (json-stream-stringify) take a turn
 * and a piece for each value, at many times the cost.
 */
export async function toJsonText(root: unknown): Promise<string> {
  const frames: Frame[] = [];
  const pieces: string[] = [];
  let text = "";
  let steps = 0;

  /** Writes a value, or opens it where it has parts. Gives false for what JSON leaves out. */
  const write = (prefix: string, key: string, given: unknown): boolean => {
    const value = hasToJson(given) ? given.toJSON(key) : given;
    if (typeof value === "object" && value !== null) {
      const isList = Array.isArray(value);
      text += prefix + (isList ? "[" : "{");
      // What is no list is read by its names.
      const parts = value as Frame["value"];
      frames.push({ value: parts, keys: isList ? null : Object.keys(value), index: 0, isEmpty: true });
      return true;
    }
    // The types forget it: there is no text of `undefined` and of functions.
    const plain = JSON.stringify(value) as string | undefined;
    if (plain !== undefined) text += prefix + plain;
    return plain !== undefined;
  };

  const writeNext = (frame: Frame): void => {
    const index = frame.index++;
    const comma = frame.isEmpty ? "" : ",";
    if (Array.isArray(frame.value)) {
      if (!write(comma, String(index), frame.value[index])) text += `${comma}null`;
      frame.isEmpty = false;
      return;
    }
    const key = frame.keys?.[index] ?? "";
    // An object, as no list is.
    const part = (frame.value as Readonly<Record<string, unknown>>)[key];
    if (write(`${comma}${JSON.stringify(key)}:`, key, part)) frame.isEmpty = false;
  };

  write("", "", root);
  for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
    const { length } = frame.keys ?? (frame.value as readonly unknown[]);
    if (frame.index < length) {
      writeNext(frame);
    } else {
      text += frame.keys ? "}" : "]";
      frames.pop();
    }
    if (text.length > PIECE) {
      pieces.push(text);
      text = "";
      steps = STRIDE;
    }
    if (++steps < STRIDE) continue;
    steps = 0;
    while (isSliceOver()) await nextTurn();
  }
  pieces.push(text);
  return pieces.join("");
}

const hasToJson = (value: unknown): value is { readonly toJSON: (key: string) => unknown } =>
  typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
