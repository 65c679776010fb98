import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import * as z from "zod";

// Settings that may hold a secret have another one beside them, of the same name with `_FILE`: the path of a file that
// contains the value. No message contains the path or the content.

type Texts = Readonly<Record<string, string | undefined>>;

/** Longest file, in bytes: more than any value needs. */
const MAX_BYTES = 65_536;

/** The setting that names a file with the value of another one. */
export const fileWith = (name: string) =>
  z
    .string()
    .optional()
    .meta({
      description: `File that contains \`${name}\`, in place of that variable. See [operations.md](operations.md#secrets-in-files).`,
    });

/** The name of the setting whose value is in the file that another setting names; null for any other name. */
function inFileOf(name: string, settings: readonly string[]): string | null {
  const base = name.replace(/_FILE$/, "");
  return base !== name && settings.includes(base) ? base : null;
}

/** Adds the values that stand in files to those that are given. */
export function withSecretFiles(given: Texts, settings: readonly string[]) {
  const values: Record<string, string | undefined> = { ...given };
  const faults: string[] = [];
  /** The settings whose values came from files. */
  const fromFiles = new Set<string>();
  for (const name of settings) {
    const base = inFileOf(name, settings);
    const path = given[name];
    if (base === null || path === undefined) continue;
    if (given[base] !== undefined) {
      faults.push(`${name}: expected either ${base} or ${name}, got both`);
      continue;
    }
    const found = readSecret(path);
    if ("fault" in found) faults.push(`${name}: expected a file with ${base}, got ${found.fault}`);
    else {
      values[base] = found.text;
      fromFiles.add(base);
    }
  }
  return { values, faults, fromFiles };
}

/** Reads a file without the newline at its end. */
function readSecret(path: string): { readonly text: string } | { readonly fault: string } {
  try {
    const bytes = readBounded(path);
    if (typeof bytes === "string") return { fault: bytes };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
    return text.trim() === "" ? { fault: "an empty one" } : { text };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { fault: FAULTS[code] ?? `one that cannot be read (${code})` };
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "the path of none",
  ERR_ENCODING_INVALID_ENCODED_DATA: "one that is not UTF-8",
};

/** The bytes of a file, or what is wrong with it. Does not wait for what is no file, such as a pipe. */
function readBounded(path: string): Buffer | string {
  // Windows has no such flag.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const status = fstatSync(file);
    if (status.isDirectory()) return "a directory";
    if (!status.isFile()) return "something else";
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    return length > MAX_BYTES ? `one of more than ${MAX_BYTES} bytes` : bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
