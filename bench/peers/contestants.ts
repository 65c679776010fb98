import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOf, type Node, PRODUCT } from "../product.ts";

interface StartOptions {
  /** The Node.js that runs the contestant, unless it is native. */
  readonly node: Node;
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
  readonly start: (options: StartOptions) => Start;
  /** Whether the comparison continues without the contestant if it does not start. */
  readonly isOptional?: boolean;
  /** Whether the contestant does not run on Node.js. */
  readonly isNative?: boolean;
  /** Removes the parts of a query that the contestant cannot express. */
  readonly textOf?: (query: string) => string;
  /** A reviver for `JSON.parse` that converts values which the contestant represents differently. */
  readonly read?: (key: string, value: unknown) => unknown;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

type Env = Readonly<Record<string, string>>;

const own = (name: string, file: string, env: Env = {}): Contestant => ({
  name,
  start: ({ node, port, service }) => ({
    command: [node.file, here(`dist/contestants/${file}`)],
    env: { PORT: String(port), SERVICE: service, ...env },
  }),
});

/** A built checkout of Rungraph, run as its `npm start` does. */
export const rungraph = (name: string, env: Env, checkout = PRODUCT): Contestant => ({
  name,
  start: ({ node, port, service }) => ({
    command: commandOf(checkout, node),
    env: { PORT: String(port), UPSTREAM_URL: service, ...env },
  }),
});

/** Converts an object to names and values sorted by name, as the schema promises. */
const named = (values: object) =>
  Object.entries(values)
    .map(([name, value]: [string, unknown]) => ({ name, value }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The environment variable TAILCALL replaces the command, for example by a newer loader and the binary if glibc is older than 2.39. */
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
  isNative: true,
  textOf: (query) => query.replaceAll("{ name value }", ""),
  read: (key, value) => {
    if (key === "internalId") return String(value);
    if (key === "status") return String(value).toUpperCase();
    if ((key === "latestMetrics" || key === "values") && value instanceof Object && !Array.isArray(value))
      return named(value);
    return value;
  },
};

const LIMIT = own("limit", "limit.js");
const OPERATED = { OPERATED: "1" };
/**
 * Settings for a service with lists by ids. Each of the 240 tokens sends more requests than such services allow a user, so the rate limit
 * is off.
 */
const WITH_LISTS = { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "off" };

export type Contestants = readonly [Contestant, ...Contestant[]];

/** Contestants that read single records. The first one is the baseline. */
export const OF_RECORDS: Contestants = [
  LIMIT,
  rungraph("Rungraph", {}),
  tailcall,
  own("Mercurius + JIT + DataLoader", "mercurius.js"),
  own("Mercurius as operated", "mercurius.js", OPERATED),
  own("Yoga + Pothos + DataLoader", "yoga.js"),
  own("Apollo Server 5 + RESTDataSource", "apollo.js"),
  own("Apollo Server 5 as operated", "apollo-operated.js"),
];

/** Contestants that read lists. */
export const OF_LISTS: Contestants = [
  LIMIT,
  rungraph("Rungraph", WITH_LISTS),
  own("Mercurius + JIT + DataLoader", "mercurius.js"),
  own("Mercurius as operated", "mercurius.js", OPERATED),
];

/** Contestants that read lists and cache them for a minute. */
export const OF_KEPT_LISTS: Contestants = [
  LIMIT,
  rungraph("Rungraph", { ...WITH_LISTS, CACHE_TTL_MS: "60000" }),
  own("Mercurius + JIT + DataLoader", "mercurius.js", { CACHED: "1" }),
  own("Mercurius as operated", "mercurius.js", { ...OPERATED, CACHED: "1" }),
];
