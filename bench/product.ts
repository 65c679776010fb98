import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../src/installation.ts";

/** This checkout. */
export const PRODUCT = fileURLToPath(new URL("..", import.meta.url));

/** The command by which `npm start` runs a built checkout. */
export const commandOf = (checkout: string): readonly string[] => [
  process.execPath,
  ...NODE_FLAGS,
  join(checkout, "dist/main.js"),
];
