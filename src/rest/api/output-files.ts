import { InputError } from "../../errors.ts";
import { json } from "./reader.ts";
import { type Check, MAX_RECORDS, recordOf, type RecordOf, texts } from "./record.ts";

/** A name and a size in bytes. */
export type FileEntry = readonly [name: string, bytes?: number | null];

const isFile = (value: unknown): boolean => {
  if (!Array.isArray(value)) return false;
  const [name, bytes] = value as readonly unknown[];
  return typeof name === "string" && (bytes == null || (Number.isSafeInteger(bytes) && Number(bytes) >= 0));
};

const files: Check<readonly FileEntry[] | null | undefined> = Object.assign(
  (value: unknown): value is readonly FileEntry[] | null | undefined =>
    value == null || (Array.isArray(value) && value.length <= MAX_RECORDS && value.every(isFile)),
  { item: isFile },
);

const OutputFolderKeys = { dirs: texts, files };
export type OutputFolderRecord = RecordOf<typeof OutputFolderKeys>;

export const OutputFolder = json(recordOf(OutputFolderKeys));

/** Longest path, percent-encoded: servers refuse a request line above 4,094 bytes in the same way as a missing folder. */
const MAX_PATH_BYTES = 2_000;
/** Backslashes, control characters and halves of surrogate pairs, which UTF-8 cannot encode. */
const NOT_PLAIN = /[\\\p{Cc}\p{Cs}]/u;

/** Whether a path is relative and leads to something below its folder. Known servers join paths unchecked. */
export const isPlainPath = (path: string): boolean =>
  !NOT_PLAIN.test(path) &&
  path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..") &&
  encodeURIComponent(path).length <= MAX_PATH_BYTES;

/** Returns a path unchanged, or throws `InputError` unless it is plain. */
export function plainPath(argument: string, path: string): string {
  if (isPlainPath(path)) return path;
  throw new InputError(
    `${argument}: expected a relative path such as checkpoints/model.bin, up to ${MAX_PATH_BYTES} bytes when percent-encoded, without empty segments, \`.\`, \`..\`, \`\\\` and control characters, got ${JSON.stringify(path.slice(0, 60))}`,
  );
}
