import { isSliceOver, nextTurn } from "./turns.ts";

/** An object or list that is being serialized. */
interface Frame {
  readonly value: Readonly<Record<string, unknown>> | readonly unknown[];
  /** The keys of an object; null for a list. */
  readonly keys: readonly string[] | null;
  index: number;
  isEmpty: boolean;
}

/** Values serialized between two checks of the clock. */
const STRIDE = 500;
/** Characters of one chunk. */
const CHUNK_LENGTH = 65_536;

/**
 * Serializes like `JSON.stringify`, but in time slices that yield to the event loop, and iteratively, because a value
 * may be nested deeper than the call stack. Own code: streaming packages (json-stream-stringify) yield a chunk for each
 * value, at many times the cost.
 */
export async function toJsonText(root: unknown): Promise<string> {
  const frames: Frame[] = [];
  const chunks: string[] = [];
  let text = "";
  let steps = 0;

  /** Writes a scalar, or opens a frame for an object or list. Returns false for values that JSON omits. */
  const write = (prefix: string, key: string, given: unknown): boolean => {
    const value = hasToJson(given) ? given.toJSON(key) : given;
    if (typeof value === "object" && value !== null) {
      const isList = Array.isArray(value);
      text += prefix + (isList ? "[" : "{");
      // Objects are read by the keys of the frame.
      const parts = value as Frame["value"];
      frames.push({ value: parts, keys: isList ? null : Object.keys(value), index: 0, isEmpty: true });
      return true;
    }
    // TypeScript's signature is wrong: `undefined` and functions give undefined.
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
    // Not a list, so an object.
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
    if (text.length > CHUNK_LENGTH) {
      chunks.push(text);
      text = "";
      steps = STRIDE;
    }
    if (++steps < STRIDE) continue;
    steps = 0;
    while (isSliceOver()) await nextTurn();
  }
  chunks.push(text);
  return chunks.join("");
}

const hasToJson = (value: unknown): value is { readonly toJSON: (key: string) => unknown } =>
  typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
