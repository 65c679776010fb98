import { existsSync, readFileSync } from "node:fs";

const isSource = existsSync(new URL("../package.json", import.meta.url));

/** The folder of the gateway: above `src`, or above `dist/src`. */
export const FOLDER = new URL(isSource ? "../" : "../../", import.meta.url);

export function readVersion(): string {
  const text = readFileSync(new URL("package.json", FOLDER), "utf8");
  // Safe: every package has one.
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Flags of Node with which the gateway runs. Short-lived objects are collected less often, long-lived ones earlier: see
 * docs/operations.md.
 */
export const NODE_FLAGS: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=32",
  "--heap-growing-percent=100",
];
