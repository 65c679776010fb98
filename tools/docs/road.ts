import { readFileSync } from "node:fs";
import { table } from "./table.ts";

/** What the trips through the gateway may pass at most, as `npm run road -- --update` counted it. */
export const ROAD_COUNTS = new URL("road.json", import.meta.url);

export interface RoadCounts {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
  /** How often the function that is called next stands in another file. */
  readonly changes: number;
}

export const readRoadCounts = () =>
  // Safe: only the script writes it.
  JSON.parse(readFileSync(ROAD_COUNTS, "utf8")) as Readonly<Record<string, RoadCounts>>;

export const road = (): string =>
  table(
    ["Trip", "Files", "Functions", "Calls", "Changes of file"],
    Object.entries(readRoadCounts()).map(([name, { files, functions, calls, changes }]) => [
      name.includes("{") ? `\`${name}\`` : name,
      files,
      functions,
      calls,
      changes,
    ]),
  );
