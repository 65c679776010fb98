import { existsSync, readFileSync } from "node:fs";

const isSource = existsSync(new URL("../package.json", import.meta.url));

/** The folder of the gateway: above `src`, or above `dist/src`. */
export const FOLDER = new URL(isSource ? "../" : "../../", import.meta.url);

const manifest = readFileSync(new URL("package.json", FOLDER), "utf8");
// Safe: every package has a version.
export const { version } = JSON.parse(manifest) as { readonly version: string };

/**
 * Flags of Node with which the gateway runs. With them, V8 collects short-lived objects less often and long-lived objects earlier: see
 * docs/operations.md. Without `--no-allocation-site-pretenuring`, V8 allocates some objects of requests in the old generation, where they
 * keep the objects that they reference alive until the next full collection. Collections of the young generation then take twice as long.
 * Without `--no-minor-gc-task`, V8 collects the young generation as soon as four fifths of its space are used.
 */
export const NODE_FLAGS: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=32",
  "--heap-growing-percent=100",
  "--no-allocation-site-pretenuring",
  "--no-minor-gc-task",
];
