import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../src/package-info.ts";

/** This checkout. */
export const PRODUCT = fileURLToPath(new URL("..", import.meta.url));

/** A Node.js that servers run on. */
export interface Node {
  readonly file: string;
  /** Such as `v20.20.2`. */
  readonly version: string;
}

export const THIS_NODE: Node = { file: process.execPath, version: process.version };

/** The file that starts a built checkout. Releases up to 0.3 were one file. */
const mainOf = (checkout: string): string =>
  ["dist/src/main.js", "dist/main.js"].map((path) => join(checkout, path)).find(existsSync) ?? checkout;

/** The command by which a built checkout is run, as `npm start` runs it. */
export const commandOf = (checkout: string, node = THIS_NODE): readonly string[] => [
  node.file,
  ...NODE_FLAGS,
  mainOf(checkout),
];
