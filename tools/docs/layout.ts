interface Row {
  readonly contains: string;
  /** Names of the rows that its files import. */
  readonly imports: readonly string[];
}

/**
 * The modules of `src` and the demo in the order of their dependencies: a row imports only rows above it. The table in docs/architecture.md
 * is generated from it, and test/docs/imports.test.ts compares it with the imports of all files. A file with its own row belongs to no
 * other row.
 */
export const ROWS: Readonly<Record<string, Row>> = {
  "errors.ts": {
    contains: "error codes, each with its HTTP status, retries and effect on the circuit breaker",
    imports: [],
  },
  util: {
    contains:
      "general data structures and functions: clock, lists, sliding window, async iterators, cooperative tasks",
    imports: [],
  },
  callers: {
    contains: "state per caller: quotas, fair queues, memory budget; the lifetime of a request",
    imports: ["errors.ts", "util"],
  },
  "package-info.ts": {
    contains: "installation path, version, and the flags with which Node.js runs",
    imports: [],
  },
  "engine/field-extensions.ts": {
    contains: "extensions by which fields of the schema describe to the engine what they read",
    imports: [],
  },
  "operation-trace.ts": {
    contains: "the trace of one operation, for results that are explained",
    imports: ["engine/field-extensions.ts"],
  },
  engine: {
    contains: "parsing, limits, planning and execution of documents; independent of REST and of the schema",
    imports: ["util", "errors.ts", "callers", "engine/field-extensions.ts"],
  },
  "rest/api": {
    contains: "the upstream API as data: endpoints, records, references, server profiles",
    imports: ["errors.ts", "util"],
  },
  "rest/client": {
    contains:
      "one upstream request: admission (rate limits, adaptive concurrency limit, circuit breaker), retries, transport, error mapping",
    imports: ["errors.ts", "util", "callers", "operation-trace.ts", "rest/api"],
  },
  "rest/session": {
    contains:
      "the reads of one operation: batching, pagination, log windows, and reads shared by operations of a caller",
    imports: ["errors.ts", "util", "callers", "operation-trace.ts", "rest/api", "rest/client"],
  },
  live: {
    contains: "polling for subscriptions, shared by subscribers of one caller",
    imports: ["errors.ts", "util", "callers", "rest/api", "rest/session"],
  },
  "graphql/core": {
    contains: "schema builder, kinds, ids, resources, field sources, commands, prefetching",
    imports: ["util", "errors.ts", "engine/field-extensions.ts", "rest/api", "rest/session", "live"],
  },
  "graphql/types": {
    contains: "object types: the fields, lists and commands of each kind",
    imports: ["util", "errors.ts", "engine/field-extensions.ts", "rest/api", "rest/session", "graphql/core"],
  },
  "graphql/analysis": {
    contains: "values computed from runs: summaries of metrics and lists, comparisons",
    imports: ["util", "errors.ts", "rest/api", "graphql/core", "graphql/types"],
  },
  "graphql/subscriptions": {
    contains: "the fields of `Subscription` and their events",
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
    contains: "Federation: entities, the subgraph, renamed types",
    imports: ["errors.ts", "engine/field-extensions.ts", "rest/api", "graphql/core"],
  },
  "graphql/schema.ts": {
    contains: "the executable schema",
    imports: [
      "graphql/core",
      "graphql/types",
      "graphql/analysis",
      "graphql/subscriptions",
      "graphql/federation",
    ],
  },
  observability: {
    contains: "metrics, logs, spans, reports of unexpected errors, the cost of an operation",
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
    contains: "settings: `config.ts` lists them, `config/` parses their values",
    imports: ["errors.ts", "util", "engine", "rest/api", "graphql/federation", "graphql/schema.ts"],
  },
  http: {
    contains: "HTTP server, router, GraphQL over HTTP and WebSocket, downloads, exports, GraphiQL, MCP",
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
    contains: "the embedded demo service",
    imports: [],
  },
  "upstream.ts": {
    contains: "creates the upstream client's configuration from the settings, or starts the demo",
    imports: ["util", "package-info.ts", "rest/api", "rest/client", "graphql/core", "config", "demo"],
  },
  "gateway.ts": {
    contains: "creates the gateway from its modules",
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
    contains: "listens for connections and drains them on shutdown",
    imports: ["util", "errors.ts", "http", "gateway.ts"],
  },
  "cli-output.ts": {
    contains: "output of the command: schema, invalid settings, demo credentials",
    imports: ["graphql/federation", "graphql/schema.ts", "observability", "config", "demo"],
  },
  "main.ts": {
    contains: "starts and stops the process",
    imports: ["errors.ts", "observability", "config", "upstream.ts", "serve.ts", "cli-output.ts"],
  },
  "index.ts": {
    contains: "the package `rungraph`, which mounts a gateway in another Node.js server",
    imports: ["observability", "http", "config", "upstream.ts", "gateway.ts"],
  },
  "cli.ts": {
    contains: "the command `rungraph`",
    imports: ["package-info.ts", "cli-output.ts", "main.ts"],
  },
};

/** Packages that only some rows may import. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@pothos/core": ["graphql/core", "graphql/types", "graphql/subscriptions"],
  dataloader: ["rest/session"],
  graphql: ["engine", "graphql/core", "graphql/federation", "graphql/schema.ts", "config", "http"],
  "graphql-yoga": ["http"],
  undici: ["rest/client"],
};

/** The path of a row. Names are relative to `src`, except that of the demo. */
export const pathOf = (name: string): string => (name === "demo" ? name : `src/${name}`);

/** The rows in their order. */
export const layout = () => Object.entries(ROWS).map(([name, row]) => ({ name, ...row }));
