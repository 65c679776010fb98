import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "./fire.ts";
import type { Running, Service } from "./processes.ts";

const OPERATIONS = new URL("../schema/operations/", import.meta.url);
const VARIABLES = JSON.parse(readFileSync(new URL("demo-variables.json", OPERATIONS), "utf8")) as Record<
  string,
  object
>;

export const FILES = {
  "start page": "02-start-page.graphql",
  "experiment page": "03-experiment-page.graphql",
  "nested run graph": "04-nested-run-graph.graphql",
  "group with 24 runs": "16-group-graph.graphql",
};

export const round = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
export const megabytes = (bytes: number) => String(Math.round(bytes / 1_000_000));
export const row = (...cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
export const seconds = (count: number) => sleep(count * 1_000);
export const say = (text: string) => process.stderr.write(`${text}\n`);

export const targetOf = ({ url }: Running, { token }: Service, file: string): Target => ({
  url,
  token,
  body: JSON.stringify({
    query: readFileSync(new URL(file, OPERATIONS), "utf8"),
    variables: VARIABLES[file] ?? {},
  }),
});
