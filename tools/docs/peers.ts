import { mediansOf } from "../../bench/peers/table.ts";
import { readResults } from "../../bench/results.ts";

/** The medians of the comparison with other servers, a table for each Node. */
export function peers(): string {
  const tables = readResults("peers")
    .split("\n\n")
    .filter((block) => /^\| Node \d+: CPU per request/.test(block));
  if (tables.length === 0)
    throw new Error("RESULTS.md: expected tables of CPU per request in the section peers");
  return tables.map(mediansOf).join("\n\n");
}
