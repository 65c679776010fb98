interface Row {
  readonly holds: string;
  /** The rows that its files import, by their names. */
  readonly imports: readonly string[];
}

/**
 * The folders of `src` and the demo, from the ground up: a row imports only rows above it. The layout in CONTRIBUTING is generated from it,
 * and a test holds the imports of all files to it. A file that has a row of its own is in no other.
 */
export const ROWS: Readonly<Record<string, Row>> = {
  "errors.ts": {
    holds: "the error table: what each code means to every part of the gateway",
    imports: [],
  },
  util: {
    holds:
      "data structures and functions that know nothing of the gateway: clock, linked list, sliding window",
    imports: [],
  },
  callers: {
    holds:
      "callers and what is kept for each: quotas, fair queues, the memory budget, the lifetime of a request",
    imports: ["errors.ts", "util"],
  },
  "package-info.ts": {
    holds: "where the gateway is installed, its version, and the flags of Node with which it runs",
    imports: [],
  },
  "engine/field-extensions.ts": {
    holds: "what a field of the schema tells the engine",
    imports: [],
  },
  "operation-trace.ts": {
    holds: "what happened in an operation whose result tells how it came about: one list of events",
    imports: ["engine/field-extensions.ts"],
  },
  engine: {
    holds: "documents, limits, plan, execution, errors; knows neither REST nor the kinds of records",
    imports: ["util", "errors.ts", "callers", "engine/field-extensions.ts"],
  },
  "rest/api": {
    holds: "the service as data: endpoints, records, references, profiles of servers",
    imports: ["errors.ts", "util"],
  },
  "rest/client": {
    holds:
      "the road of one upstream request: pace, connection, circuit, service, and again; transport, error mapping",
    imports: ["errors.ts", "util", "callers", "operation-trace.ts", "rest/api"],
  },
  "rest/session": {
    holds:
      "the reads of one GraphQL request: batches, pages, log windows, and what requests of a token share",
    imports: ["errors.ts", "util", "callers", "operation-trace.ts", "rest/api", "rest/client"],
  },
  live: {
    holds: "polling for subscriptions: what is read when, with which token, for whom",
    imports: ["errors.ts", "util", "callers", "rest/api", "rest/session"],
  },
  "graphql/core": {
    holds: "builder, kinds, ids, resources, the sources of fields, commands, prefetching",
    imports: ["errors.ts", "engine/field-extensions.ts", "rest/api", "rest/session", "live"],
  },
  "graphql/types": {
    holds: "the types: for each kind its fields, lists and commands, and what they share",
    imports: ["errors.ts", "engine/field-extensions.ts", "rest/api", "rest/session", "graphql/core"],
  },
  "graphql/analysis": {
    holds: "what is computed from runs: summaries of metrics and lists, comparisons",
    imports: ["errors.ts", "rest/api", "graphql/core", "graphql/types"],
  },
  "graphql/subscriptions": {
    holds: "the fields of `Subscription`: what each reads, and its events",
    imports: [
      "util",
      "errors.ts",
      "callers",
      "rest/api",
      "rest/session",
      "live",
      "graphql/core",
      "graphql/types",
    ],
  },
  "graphql/federation": {
    holds: "entities for routers, renamed types",
    imports: ["errors.ts", "engine/field-extensions.ts", "rest/api", "graphql/core"],
  },
  "graphql/schema.ts": {
    holds: "all of them as one schema",
    imports: [
      "graphql/core",
      "graphql/types",
      "graphql/analysis",
      "graphql/subscriptions",
      "graphql/federation",
    ],
  },
  observability: {
    holds: "metrics, log lines, spans, reports of unexpected errors, what an operation costs",
    imports: [
      "errors.ts",
      "callers",
      "package-info.ts",
      "engine/field-extensions.ts",
      "operation-trace.ts",
      "engine",
      "rest/client",
    ],
  },
  config: {
    holds: "the settings: `config.ts` lists them, `config/` reads their values",
    imports: ["errors.ts", "util", "engine", "rest/api", "graphql/federation", "graphql/schema.ts"],
  },
  http: {
    holds: "HTTP server, router, GraphQL over HTTP, downloads, exports, GraphiQL, tools for agents",
    imports: [
      "util",
      "errors.ts",
      "callers",
      "package-info.ts",
      "engine/field-extensions.ts",
      "operation-trace.ts",
      "engine",
      "rest/api",
      "rest/client",
      "rest/session",
      "live",
      "graphql/core",
      "graphql/types",
      "graphql/federation",
      "observability",
      "config",
    ],
  },
  demo: {
    holds: "the embedded demo service",
    imports: [],
  },
  "upstream.ts": {
    holds: "the service as the settings describe it, or the demo: server, how requests are written",
    imports: ["util", "package-info.ts", "rest/api", "rest/client", "graphql/core", "config", "demo"],
  },
  "gateway.ts": {
    holds: "puts the parts together",
    imports: [
      "util",
      "callers",
      "engine",
      "rest/api",
      "rest/client",
      "rest/session",
      "live",
      "graphql/schema.ts",
      "observability",
      "http",
      "config",
      "upstream.ts",
    ],
  },
  "serve.ts": {
    holds: "a gateway that listens and drains",
    imports: ["errors.ts", "http", "gateway.ts"],
  },
  "cli-output.ts": {
    holds: "what the processes print: the schema, faults of the settings, how to sign in",
    imports: ["graphql/federation", "graphql/schema.ts", "config", "demo"],
  },
  "main.ts": {
    holds: "starts and stops the process",
    imports: ["errors.ts", "observability", "config", "upstream.ts", "serve.ts", "cli-output.ts"],
  },
  "index.ts": {
    holds: "the module `rungraph`: a gateway for a server of one's own, the names of its settings",
    imports: ["observability", "http", "config", "upstream.ts", "gateway.ts"],
  },
  "cli.ts": {
    holds: "the command `rungraph`",
    imports: ["package-info.ts", "cli-output.ts", "main.ts"],
  },
};

/** Packages that only some rows may import. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@pothos/core": ["graphql/core", "graphql/types", "graphql/subscriptions"],
  dataloader: ["rest/session"],
  graphql: ["engine", "graphql/core", "graphql/federation", "graphql/schema.ts", "http"],
  "graphql-yoga": ["http"],
  undici: ["rest/client"],
};

/** Where a row is. All but the demo are in `src`, which their names leave out. */
export const pathOf = (name: string): string => (name === "demo" ? name : `src/${name}`);

/** The rows in their order. */
export const layout = () => Object.entries(ROWS).map(([name, row]) => ({ name, ...row }));
