import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../src/package-info.ts";

/** The path of this checkout. */
export const PRODUCT = fileURLToPath(new URL("..", import.meta.url));

/** A Node.js installation that runs servers. */
export interface Node {
  readonly file: string;
  /** The version, such as `v20.20.2`. */
  readonly version: string;
}

export const THIS_NODE: Node = { file: process.execPath, version: process.version };

/** The entry point of a built checkout. Releases up to 0.3 were bundled into one file. */
const mainOf = (checkout: string): string =>
  ["dist/src/main.js", "dist/main.js"].map((path) => join(checkout, path)).find(existsSync) ?? checkout;

/** The command that runs a built checkout, as `npm start` does. */
export const commandOf = (checkout: string, node = THIS_NODE): readonly string[] => [
  node.file,
  ...NODE_FLAGS,
  mainOf(checkout),
];
