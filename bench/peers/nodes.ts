import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Node, THIS_NODE } from "../product.ts";

/** The newest Node.js of `test/nodes`. */
const NEWEST = fileURLToPath(new URL("../../test/nodes/node_modules/node-26/bin/node", import.meta.url));

/** The major version: 26 of `v26.10.0`. */
export const majorOf = ({ version }: Node): number => Number(/\d+/.exec(version)?.[0]);

/** The Node.js versions on which servers are compared: the current one and the newest. */
export function nodes(): readonly Node[] {
  if (!existsSync(NEWEST)) throw new Error("expected Node 26: npm ci --prefix test/nodes");
  const version = execFileSync(NEWEST, ["--version"], { encoding: "utf8" }).trim();
  const newest = { file: NEWEST, version };
  return majorOf(newest) === majorOf(THIS_NODE) ? [THIS_NODE] : [THIS_NODE, newest];
}
