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
    holds: "functions of strings and values that belong to no part of the gateway",
    imports: [],
  },
  "transient.ts": {
    holds: "collections whose members come and go with requests",
    imports: [],
  },
  "clock.ts": {
    holds: "the time and its timers, which tests move by hand",
    imports: [],
  },
  "rate.ts": {
    holds: "at most so many requests in a period",
    imports: [],
  },
  "caller.ts": {
    holds: "who asks, and what each part of the gateway keeps for a caller",
    imports: ["util"],
  },
  "line.ts": {
    holds: "what waits for its turn: requests for their pace or a connection, work for a time slice",
    imports: ["transient.ts", "caller.ts"],
  },
  "request-scope.ts": {
    holds: "one request of a caller: its token, its deadline, what ends with it",
    imports: ["caller.ts"],
  },
  "held.ts": {
    holds: "how much memory callers hold: responses, and what is made of them",
    imports: ["errors.ts", "caller.ts", "request-scope.ts"],
  },
  "installation.ts": {
    holds: "where the gateway is installed, its version, and the flags of Node with which it runs",
    imports: [],
  },
  "engine/field-source.ts": {
    holds: "what a field of the schema tells the engine",
    imports: [],
  },
  "journal.ts": {
    holds: "what happened in an operation whose result tells how it came about: one list of events",
    imports: ["engine/field-source.ts"],
  },
  engine: {
    holds: "documents, limits, plan, execution, errors; knows neither REST nor the kinds of records",
    imports: [
      "util",
      "errors.ts",
      "transient.ts",
      "line.ts",
      "caller.ts",
      "request-scope.ts",
      "held.ts",
      "engine/field-source.ts",
    ],
  },
  "rest/api": {
    holds: "the service as data: endpoints, records, references, profiles of servers",
    imports: ["errors.ts", "rate.ts"],
  },
  "rest/client": {
    holds:
      "the road of one upstream request: pace, connection, circuit, service, and again; transport, error mapping",
    imports: [
      "errors.ts",
      "clock.ts",
      "rate.ts",
      "caller.ts",
      "line.ts",
      "request-scope.ts",
      "held.ts",
      "journal.ts",
      "rest/api",
    ],
  },
  "rest/session": {
    holds:
      "the reads of one GraphQL request: batches, pages, log windows, and what requests of a token share",
    imports: [
      "errors.ts",
      "transient.ts",
      "caller.ts",
      "request-scope.ts",
      "journal.ts",
      "rest/api",
      "rest/client",
    ],
  },
  live: {
    holds: "polling for subscriptions: what is read when, with which token, for whom",
    imports: [
      "errors.ts",
      "clock.ts",
      "rate.ts",
      "caller.ts",
      "held.ts",
      "request-scope.ts",
      "rest/api",
      "rest/session",
    ],
  },
  "graphql/core": {
    holds: "builder, kinds, ids, resources, the sources of fields, commands, prefetching",
    imports: ["errors.ts", "engine/field-source.ts", "rest/api", "rest/session", "live"],
  },
  "graphql/types": {
    holds: "the types: for each kind its fields, lists and commands, and what they share",
    imports: ["errors.ts", "engine/field-source.ts", "rest/api", "rest/session", "graphql/core"],
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
      "held.ts",
      "rest/api",
      "rest/session",
      "live",
      "graphql/core",
      "graphql/types",
    ],
  },
  "graphql/federation": {
    holds: "entities for routers, renamed types",
    imports: ["errors.ts", "engine/field-source.ts", "rest/api", "graphql/core"],
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
      "request-scope.ts",
      "installation.ts",
      "engine/field-source.ts",
      "journal.ts",
      "engine",
      "rest/client",
    ],
  },
  config: {
    holds: "the settings: `config.ts` lists them, `config/` reads their values",
    imports: ["errors.ts", "rate.ts", "engine", "rest/api", "graphql/federation", "graphql/schema.ts"],
  },
  http: {
    holds: "HTTP server, router, GraphQL over HTTP, downloads, exports, GraphiQL, tools for agents",
    imports: [
      "util",
      "errors.ts",
      "transient.ts",
      "clock.ts",
      "caller.ts",
      "held.ts",
      "request-scope.ts",
      "installation.ts",
      "engine/field-source.ts",
      "journal.ts",
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
  "service.ts": {
    holds: "the service as the settings describe it, or the demo: server, how requests are written",
    imports: ["rate.ts", "installation.ts", "rest/api", "rest/client", "graphql/core", "config", "demo"],
  },
  "gateway.ts": {
    holds: "puts the parts together",
    imports: [
      "clock.ts",
      "caller.ts",
      "held.ts",
      "engine",
      "rest/api",
      "rest/client",
      "rest/session",
      "live",
      "graphql/schema.ts",
      "observability",
      "http",
      "config",
      "service.ts",
    ],
  },
  "serve.ts": {
    holds: "a gateway that listens and drains",
    imports: ["errors.ts", "http", "gateway.ts"],
  },
  "print.ts": {
    holds: "what the processes print: the schema, faults of the settings, how to sign in",
    imports: ["graphql/federation", "graphql/schema.ts", "config", "demo"],
  },
  "main.ts": {
    holds: "starts and stops the process",
    imports: ["errors.ts", "observability", "config", "service.ts", "serve.ts", "print.ts"],
  },
  "index.ts": {
    holds: "the module `rungraph`: a gateway for a server of one's own, the names of its settings",
    imports: ["observability", "http", "config", "service.ts", "gateway.ts"],
  },
  "cli.ts": {
    holds: "the command `rungraph`",
    imports: ["installation.ts", "print.ts", "main.ts"],
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
