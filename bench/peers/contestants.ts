import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../../src/installation.ts";
import { commandOf, PRODUCT } from "../product.ts";

interface Place {
  readonly port: number;
  /** Base URL of the service. */
  readonly service: string;
}

interface Start {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Contestant {
  readonly name: string;
  readonly start: (place: Place) => Start;
  /** Whether the others are compared where it does not run. */
  readonly isOptional?: boolean;
  /** Its own text of an operation, where it cannot express a part of it. */
  readonly textOf?: (query: string) => string;
  /** Reads what it expresses in another form, as `JSON.parse` takes it. */
  readonly read?: (key: string, value: unknown) => unknown;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const node = (name: string, file: string, flags: readonly string[] = []): Contestant => ({
  name,
  start: ({ port, service }) => ({
    command: [process.execPath, ...flags, here(`dist/contestants/${file}`)],
    env: { PORT: String(port), SERVICE: service },
  }),
});

/** A built checkout of Rungraph, as its `npm start` starts it. */
export const rungraph = (
  name: string,
  env: Readonly<Record<string, string>>,
  checkout = PRODUCT,
): Contestant => ({
  name,
  start: ({ port, service }) => ({
    command: commandOf(checkout),
    env: { PORT: String(port), UPSTREAM_URL: service, ...env },
  }),
});

/** Sorted by name, as the schema promises. */
const named = (values: object) =>
  Object.entries(values)
    .map(([name, value]: [string, unknown]) => ({ name, value }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** TAILCALL: the command that starts it, such as a newer loader with its binary where glibc is older than 2.39. */
const tailcall: Contestant = {
  name: "Tailcall, with dedupe (Rust)",
  start: ({ port, service }) => {
    const binary = here("node_modules/@tailcallhq/core-linux-x64-gnu/bin/tailcall");
    const file = join(tmpdir(), `rungraph-tailcall-${port}.graphql`);
    const text = readFileSync(here("contestants/tailcall.graphql"), "utf8");
    writeFileSync(file, text.replaceAll("http://service", service).replace("port: 4000", `port: ${port}`));
    return {
      command: [...(process.env["TAILCALL"] ?? binary).split(" "), "start", file],
      env: { TAILCALL_TRACKER: "false", TAILCALL_LOG_LEVEL: "error" },
    };
  },
  isOptional: true,
  textOf: (query) => query.replaceAll("{ name value }", ""),
  read: (key, value) => {
    if (key === "internalId") return String(value);
    if (key === "status") return String(value).toUpperCase();
    if ((key === "lastMetric" || key === "values") && value instanceof Object && !Array.isArray(value))
      return named(value);
    return value;
  },
};

/** The first one is the measure of all others. */
export const CONTESTANTS: readonly [Contestant, ...Contestant[]] = [
  node("limit", "limit.js"),
  node("limit, with Rungraph's V8 flags", "limit.js", NODE_FLAGS),
  // Q3 and Q4 have 50 root fields, and 32 callers ask them at once.
  rungraph("Rungraph", { MAX_ROOT_FIELDS: "50", UPSTREAM_QUEUE: "5000" }),
  tailcall,
  node("Mercurius + JIT + DataLoader", "mercurius.js"),
  node("Yoga + Pothos + DataLoader", "yoga.js"),
  node("Apollo Server 5 + RESTDataSource", "apollo.js"),
];
