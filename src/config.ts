import { createSecureContext } from "node:tls";
import * as z from "zod";
import { type Bounds, boundsFor } from "./config/bounds.ts";
import { readNames, type Variables } from "./config/names.ts";
import { profileOf } from "./config/profile-file.ts";
import { systemCodeOf } from "./errors.ts";
import type { Renames } from "./graphql/federation/rename.ts";
import {
  certificateFile,
  count,
  httpUrl,
  isOn,
  keyFile,
  milliseconds,
  onOff,
  parseHeaders,
  parseOrigins,
  parseProxy,
  parseTrustedProxies,
  parseTypeNames,
  rateLimit,
  readManifest,
  whole,
} from "./config/values.ts";

/** All settings, by their heading in docs/settings.md. `unset` describes the behaviour of a setting without a default. */
const SECTIONS = {
  Service: {
    UPSTREAM_URL: httpUrl.optional().meta({
      description: "Base URL of the service; a path prefix is kept.",
      unset: "the embedded demo service",
    }),
    UPSTREAM_PROFILE: z.string().transform(profileOf).optional().meta({
      description:
        "What the server does: a built-in profile, or the path of a YAML or JSON file that describes it. See [servers.md](servers.md).",
      unset: "`document`; the demo has one of its own",
    }),
    DEMO: isOn.optional().meta({
      description: "Whether the demo service starts when `UPSTREAM_URL` is not set.",
      unset: "`on`; with `NODE_ENV=production` `off`",
    }),
    UPSTREAM_HEADERS: z
      .string()
      .default("{}")
      .transform(parseHeaders)
      .describe(
        'Headers of every upstream request, as a JSON object: `{"x-api-key": "…"}`. Headers that the gateway sets itself are rejected, except `user-agent`.',
      ),
    UPSTREAM_PROXY: z
      .string()
      .transform(parseProxy)
      .optional()
      .describe(
        "HTTP proxy for upstream requests, such as `http://user:password@proxy:3128`. It must allow CONNECT.",
      ),
    UPSTREAM_CA_FILE: certificateFile.optional().meta({
      description: "PEM file of the authorities that may sign the certificate of the service.",
      unset: "the authorities of Node",
    }),
    UPSTREAM_CERT_FILE: certificateFile
      .optional()
      .describe("PEM file of the client certificate that the gateway presents, with its chain."),
    UPSTREAM_KEY_FILE: keyFile
      .optional()
      .describe("PEM file of the private key of that certificate, without a passphrase."),
  },
  "HTTP server": {
    HOST: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
    PORT: whole({ from: 0, to: 65_535, fallback: 4000 }).describe("Port to listen on; 0 takes a free one."),
    PUBLIC_URL: httpUrl.optional().meta({
      description:
        "Base URL under which callers reach the gateway. `logsUrl` and `outputsUrl` begin with it.",
      unset: "the address of each request",
    }),
    CORS_ORIGINS: z
      .string()
      .default("")
      .transform(parseOrigins)
      .describe(
        "Origins whose pages may call the gateway, separated by commas, such as `https://app.example.com`. Credentials (cookies) are not allowed. With the demo service pages from this machine (`localhost`) may call as well.",
      ),
    TRUSTED_PROXIES: z
      .string()
      .default("")
      .transform(parseTrustedProxies)
      .describe(
        "Proxies in front of the gateway whose `Forwarded` or `X-Forwarded-For` names the client: how many there are, or their addresses and networks, separated by commas, such as `10.0.0.0/8`. Without it the address of the connection counts, so that all who come through one proxy share the limits of one address. See [operations.md](operations.md#behind-a-proxy).",
      ),
    MAX_BODY_BYTES: count(256_000).describe("Longest request body, in bytes."),
    KEEP_ALIVE_TIMEOUT_MS: milliseconds(75_000).describe(
      "How long a connection is kept for its next request, in milliseconds. Longer than proxies and load balancers keep theirs: nginx and ALB 60 s. See [operations.md](operations.md#behind-a-load-balancer).",
    ),
    DRAIN_TIMEOUT_MS: milliseconds(25_000).describe(
      "Longest time that requests in flight may take after SIGTERM, in milliseconds.",
    ),
    METRICS: onOff(true).describe("Serves metrics for Prometheus at `/metrics`."),
    LOG_LEVEL: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
      .default("info")
      .describe(
        "Lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
      ),
    CALLER_SALT: z.string().min(16, "expected at least 16 characters").optional().meta({
      description:
        "Secret from which, with the token, `caller` in log lines is made. With the same one in all replicas a caller has the same name in all logs.",
      unset: "a random one for each process",
    }),
  },
  GraphQL: {
    GRAPHIQL: onOff(true).describe("Serves GraphiQL to browsers."),
    EXPLAIN: isOn.optional().meta({
      description:
        "Whether callers may ask what an operation costs, by the header `x-rungraph-explain: 1`. See [frontend.md](frontend.md#what-an-operation-costs).",
      unset: "`on` with the demo, else `off`",
    }),
    INTROSPECTION: onOff(true).describe("Allows introspection of the schema."),
    TYPE_NAMES: z
      .string()
      .default("")
      .transform(parseTypeNames)
      .describe(
        "Renames types of the schema, such as `Job=TrainingJob,Run=TrainingRun`. `relay` stands for `Node=ClusterNode,Entity=Node`, the names that Relay expects.",
      ),
    TRUSTED_DOCUMENTS: z.string().transform(readManifest).optional().meta({
      description: "Path of a manifest of documents. Any other document is rejected.",
      unset: "every document runs",
    }),
    MCP: z
      .enum(["off", "read", "write"], { error: "expected off, read or write" })
      .default("off")
      .describe(
        "Serves tools for AI agents at `/mcp` by the Model Context Protocol: `read` only queries, `write` also mutations. See [agents.md](agents.md).",
      ),
  },
  "Upstream requests": {
    REQUEST_TIMEOUT_MS: milliseconds(30_000).describe("Deadline of one GraphQL request, in milliseconds."),
    UPSTREAM_TIMEOUT_MS: milliseconds(15_000).describe(
      "Longest time of one upstream request, in milliseconds. Logs and downloads have no such limit.",
    ),
    UPSTREAM_RATE_LIMIT: rateLimit.optional().meta({
      description:
        "How many requests of one token the service answers in how many seconds, such as `120/60`, or `off`. Reads are paced below it. See [operations.md](operations.md#a-service-that-throttles).",
      unset: "what the profile says; with the demo `off`",
    }),
    UPSTREAM_CONNECTIONS: count(128).describe("Most connections to the service."),
    UPSTREAM_CONNECTIONS_PER_TOKEN: count(16).describe(
      "Most connections that one token uses at a time; waiting tokens take turns.",
    ),
    CACHE_TTL_MS: whole({ from: 0, to: 3_600_000, fallback: 0 }).describe(
      "How long a response of the service is kept for other operations of the same token, in milliseconds; 0: not at all. See [operations.md](operations.md#shared-reads).",
    ),
    STALE_MAX_AGE_MS: whole({ from: 0, to: 3_600_000, fallback: 0 }).describe(
      "Maximum age of an earlier response to the same token that answers while the service refuses (429), fails or is unavailable, in milliseconds; 0: none does. `extensions.stale` lists where. See [operations.md](operations.md#a-service-that-throttles).",
    ),
  },
  "Limits of one operation": {
    MAX_UPSTREAM_REQUESTS: count(200).describe("Most upstream requests."),
    MAX_JSON_BYTES: count(10_000_000).describe(
      "Longest JSON response of the service, in bytes after decompression.",
    ),
    MAX_PAGE_SIZE: whole({ from: 1, to: 500, fallback: 500 }).describe(
      "Most items of a list: the largest `first`, and the length of a list without `first`.",
    ),
    MAX_DEPTH: count(15).describe("Deepest nesting of the document."),
    MAX_FIELDS: count(10_000).describe(
      "Most selected fields: fragments are expanded, and fields below a list argument such as `ids` are multiplied by its length.",
    ),
    MAX_RESULT_BYTES: count(8_000_000).describe(
      "Longest result, in bytes. Escapes in its texts are not counted.",
    ),
  },
  "Limits of one token and of each process": {
    MAX_OPERATIONS: count(256).describe(
      "Most operations at a time. Beyond it requests are rejected with 503.",
    ),
    MAX_OPERATIONS_PER_TOKEN: count(32).describe(
      "Most operations of one token at a time. Beyond it requests are rejected with 429. Where all callers share one token, set it to `MAX_OPERATIONS`.",
    ),
    MAX_SUBSCRIPTIONS: count(2_000).describe(
      "Most subscriptions at a time. Beyond it new ones are rejected with 503.",
    ),
    LIVE_REQUESTS_PER_MINUTE: count(30).describe(
      "Most upstream requests by which the subscriptions of one token poll the service in a minute. The reads of events count as well: polls wait until there is room.",
    ),
  },
};

const Environment = z.object({
  ...SECTIONS.Service,
  ...SECTIONS["HTTP server"],
  ...SECTIONS.GraphQL,
  ...SECTIONS["Upstream requests"],
  ...SECTIONS["Limits of one operation"],
  ...SECTIONS["Limits of one token and of each process"],
});

/** The settings by heading, for the documentation. */
export const SETTING_SECTIONS: Readonly<Record<string, z.core.$ZodShape>> = SECTIONS;

/** The names of all settings. */
export const SETTINGS: readonly string[] = Object.keys(Environment.shape);

/** What a gateway runs under: the settings as they were read, and the bounds in addition to them. */
export type Config = z.output<typeof Environment> & Bounds;

/** Whether GraphiQL is served. With trusted documents the page would be useless. */
export const hasPage = ({ GRAPHIQL, TRUSTED_DOCUMENTS }: Config): boolean => GRAPHIQL && !TRUSTED_DOCUMENTS;

/** Invalid settings. The message has one line per fault, with the variable's name and never its value. */
export class ConfigError extends Error {}

/** Reads the environment. Throws `ConfigError` with all faults at once. */
export function readConfig(environment: Variables): Config {
  const { values, files, faults } = readNames(environment, SETTINGS);
  const result = Environment.safeParse(values);
  const faultsOfValues = [...faultsIn(result), ...(result.success ? upstreamFaults(result.data) : [])];
  // Names the variable that was set.
  const named = faultsOfValues.map((fault) => fault.replace(/^\w+/, (name) => files.get(name) ?? name));
  const all = [...faults, ...named, ...demoFaults(values)];
  if (result.success && all.length === 0) return { ...boundsFor(result.data), ...result.data };
  throw new ConfigError(all.join("\n"));
}

/** Reads `TYPE_NAMES` alone. Throws `ConfigError`. */
export const readTypeNames = ({ TYPE_NAMES, TYPE_NAMES_FILE }: Variables): Renames =>
  readConfig({ TYPE_NAMES, TYPE_NAMES_FILE }).TYPE_NAMES;

const faultsIn = ({ error }: z.ZodSafeParseResult<unknown>): string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

/** Requires `DEMO=on` in production: the demo has known passwords and must not start because of a missing setting. */
function demoFaults({ UPSTREAM_URL, DEMO, NODE_ENV }: Variables): string[] {
  const mayBeDemo = DEMO === undefined ? NODE_ENV !== "production" : DEMO !== "off";
  if (UPSTREAM_URL !== undefined || mayBeDemo) return [];
  const reason =
    DEMO === "off" ? "DEMO is off" : "with NODE_ENV=production the demo starts only with DEMO=on";
  return [`UPSTREAM_URL: expected the address of the service (${reason})`];
}

/** Checks settings that depend on each other. */
function upstreamFaults(settings: z.output<typeof Environment>): string[] {
  const { UPSTREAM_URL: url, UPSTREAM_PROXY: proxy } = settings;
  const { UPSTREAM_CA_FILE: ca, UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: key } = settings;
  if (proxy && !url)
    return ["UPSTREAM_PROXY: expected UPSTREAM_URL as well, because the demo needs no proxy"];
  const useless = (["UPSTREAM_CA_FILE", "UPSTREAM_CERT_FILE", "UPSTREAM_KEY_FILE"] as const).find(
    (name) => settings[name] !== undefined && url?.protocol !== "https:",
  );
  if (useless) return [`${useless}: expected an https UPSTREAM_URL as well`];
  if (cert && !key) return ["UPSTREAM_KEY_FILE: expected the key of UPSTREAM_CERT_FILE, got none"];
  if (key && !cert) return ["UPSTREAM_CERT_FILE: expected the certificate of UPSTREAM_KEY_FILE, got none"];
  try {
    createSecureContext({ ca, cert, key });
    return [];
  } catch (error) {
    // Such as ERR_SSL_EE_KEY_TOO_SMALL, or that the key is another's.
    const name = cert ? "UPSTREAM_CERT_FILE" : "UPSTREAM_CA_FILE";
    return [`${name}: expected what OpenSSL accepts, got a fault (${systemCodeOf(error)})`];
  }
}
