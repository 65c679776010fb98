import type { Block } from "./page.ts";

interface NotRun {
  readonly page: string;
  /** A piece of the block, in no other block of the page. */
  readonly holds: string;
  readonly why: string;
}

/** The blocks of README and docs that no test runs. Every other one is run. */
export const NOT_RUN: readonly NotRun[] = [
  { page: "README.md", holds: "npm ci && npm start", why: "installs from the registry: CI begins with it" },
  { page: "README.md", holds: "npm ci && npm test", why: "is what runs this" },
  { page: "README.md", holds: "UPSTREAM_URL=", why: "needs a server of the reader's own" },
  {
    page: "README.md",
    holds: "createGateway",
    why: "needs a server of the reader's own; test/ecosystem/recipes/embedding.test.ts mounts the gateway",
  },
  { page: "CONTRIBUTING.md", holds: "npm ci", why: "installs from the registry: CI begins with it" },
  {
    page: "docs/operations.md",
    holds: "--import ./tracing.mjs",
    why: "needs a collector; test/docs/tracing.test.ts runs its file",
  },
  {
    page: "docs/guide.md",
    holds: "/export/",
    why: "needs a token; test/export/runs.test.ts asks for the same",
  },
  {
    page: "docs/operations.md",
    holds: "map $http_authorization",
    why: "part of deploy/nginx.conf, with which test/deploy/balancers.test.ts runs nginx",
  },
  {
    page: "docs/operations.md",
    holds: "balance hash var(txn.caller)",
    why: "part of deploy/haproxy.cfg, with which test/deploy/balancers.test.ts runs HAProxy",
  },
  {
    page: "docs/guide.md",
    holds: "withoutRungraph",
    why: "its times differ from run to run; test/observability/explain.test.ts asks the same query",
  },
  { page: "docs/agents.md", holds: "MCP=read", why: "test/agents starts gateways with it" },
  { page: "docs/agents.md", holds: "claude mcp add", why: "test/agents/page.test.ts sends what it sends" },
  { page: "docs/agents.md", holds: "RUNGRAPH_TOKEN", why: "test/agents/page.test.ts sends what it sends" },
  { page: "docs/agents.md", holds: "promptString", why: "test/agents/page.test.ts sends what it sends" },
  { page: "docs/agents.md", holds: "mcp-remote", why: "test/agents/page.test.ts sends what it sends" },
  { page: "docs/live.md", holds: "previousStatus", why: "test/live/page.test.ts runs it" },
  { page: "docs/live.md", holds: "curl -N", why: "test/live/page.test.ts sends what it sends" },
  { page: "docs/servers.md", holds: "UPSTREAM_URL=", why: "needs a server of the reader's own" },
  { page: "docs/servers.md", holds: "extends: document", why: "test/profiles/servers.test.ts runs it" },
  { page: "docs/servers.md", holds: "got 7", why: "faults, which test/profiles/servers.test.ts makes" },
  {
    page: "docs/federation.md",
    holds: "include_subgraph_errors",
    why: "Apollo Router is no npm package; from its manual",
  },
  {
    page: "docs/federation.md",
    holds: "subgraph_error_propagation",
    why: "Cosmo Router is no npm package; from its manual",
  },
];

export const isNotRun = ({ page, text }: Block): boolean =>
  NOT_RUN.some((each) => each.page === page && text.includes(each.holds));
