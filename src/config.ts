import * as z from "zod";
import { redisFaults, redisSettings } from "./config/redis.ts";
import { fileWith, withSecretFiles } from "./config/secret-files.ts";
import { upstreamFaults, upstreamSettings } from "./config/upstream.ts";
import type { Renames } from "./graphql/federation/rename.ts";
import {
  count,
  httpUrl,
  milliseconds,
  onOff,
  parseOrigins,
  parseTypeNames,
  parseWorkers,
  profileOf,
  rateLimit,
  readManifest,
  trustedProxies,
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
      unset: "`document`; for the demo `polyaxon-0.4`",
    }),
    DEMO: z
      .enum(["on", "off"], { error: "expected on or off" })
      .transform((value) => value === "on")
      .optional()
      .meta({
        description: "Whether the demo service starts when `UPSTREAM_URL` is not set.",
        unset: "`on`; with `NODE_ENV=production` `off`",
      }),
    ...upstreamSettings,
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
    TRUSTED_PROXIES: trustedProxies.describe(
      "Proxies in front of the gateway whose `Forwarded` or `X-Forwarded-For` names the client: how many there are, or their addresses and networks, separated by commas, such as `10.0.0.0/8`. Without it the address of the connection counts, so that all who come through one proxy share the limits of one address. See [operations.md](operations.md#behind-a-proxy).",
    ),
    MAX_BODY_BYTES: count(256_000).describe("Longest request body, in bytes."),
    READ_TIMEOUT_MS: milliseconds(10_000).describe(
      "Longest time a caller takes to read 64 kB of a response, in milliseconds. A slower caller is disconnected.",
    ),
    KEEP_ALIVE_TIMEOUT_MS: milliseconds(75_000).describe(
      "How long a connection is kept for its next request, in milliseconds. Longer than proxies and load balancers keep theirs: nginx and ALB 60 s. See [operations.md](operations.md#behind-a-load-balancer).",
    ),
    DRAIN_TIMEOUT_MS: milliseconds(25_000).describe(
      "Longest time that requests in flight may take after SIGTERM, in milliseconds.",
    ),
    WORKERS: z
      .string()
      .default("1")
      .transform(parseWorkers)
      .describe(
        "Processes that share the port: a number up to 128, or `auto` for one per core. Limits of tokens and of the process apply to each of them, and so do connections to the service, queue and document cache. See [operations.md](operations.md#workers).",
      ),
    RELOAD_INTERVAL_MS: whole({ from: 0, to: 3_600_000, fallback: 5_000 }).describe(
      "How often the gateway looks whether files that settings name have changed, in milliseconds; 0: only on SIGHUP. See [operations.md](operations.md#reload).",
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
    CALLER_SALT_FILE: fileWith("CALLER_SALT"),
  },
  GraphQL: {
    GRAPHIQL: onOff(true).describe("Serves GraphiQL to browsers."),
    EXPLAIN: z
      .enum(["on", "off"], { error: "expected on or off" })
      .transform((value) => value === "on")
      .optional()
      .meta({
        description:
          "Whether callers may ask what an operation costs, by the header `x-rungraph-explain: 1`. See [guide.md](guide.md#what-an-operation-costs).",
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
    APQ: onOff(true).describe("Accepts automatic persisted queries."),
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
    DOCUMENT_CACHE_BYTES: count(16_000_000).describe(
      "Size of the cache of parsed documents, in bytes. The texts of automatic persisted queries take up to a quarter of it in addition.",
    ),
    ...redisSettings,
  },
  "Upstream requests": {
    REQUEST_TIMEOUT_MS: milliseconds(30_000).describe("Deadline of one GraphQL request, in milliseconds."),
    UPSTREAM_CONNECT_TIMEOUT_MS: milliseconds(2_000).describe(
      "Longest time to open a connection to the service, in milliseconds.",
    ),
    UPSTREAM_HEADERS_TIMEOUT_MS: milliseconds(10_000).describe(
      "Longest time until the headers of a response, in milliseconds.",
    ),
    UPSTREAM_TIMEOUT_MS: milliseconds(15_000).describe(
      "Longest time of one upstream request, in milliseconds. Logs and downloads have no such limit.",
    ),
    UPSTREAM_IDLE_TIMEOUT_MS: milliseconds(30_000).describe(
      "Longest pause in a log or download, in milliseconds.",
    ),
    UPSTREAM_RETRIES: whole({ from: 0, to: 10, fallback: 2 }).describe(
      "How many times a GET is retried when the service cannot be reached.",
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
      "How old an earlier response to the same token may be that answers while the service refuses (429) or is away, in milliseconds; 0: none does. `extensions.stale` tells where. See [operations.md](operations.md#a-service-that-throttles).",
    ),
    CACHE_BYTES: count(64_000_000).describe("Most bytes of kept responses, of all tokens."),
    UPSTREAM_QUEUE: count(500).describe(
      "Most upstream requests that wait for a connection. Beyond it new operations are rejected with 503.",
    ),
  },
  "Limits of one operation": {
    MAX_UPSTREAM_REQUESTS: count(200).describe("Most upstream requests."),
    MAX_UPSTREAM_WIDTH: count(32).describe("Most upstream requests at a time."),
    MAX_JSON_BYTES: count(10_000_000).describe(
      "Longest JSON response of the service, in bytes after decompression. It has at most 2 million numbers, or a million `NaN`, or 330,000 texts, or 500,000 lists and objects, and some 30,000 different keys.",
    ),
    MAX_LOG_BYTES: whole({ from: 1, to: 1_048_576, fallback: 1_048_576 }).describe(
      "Longest log window, in bytes.",
    ),
    MAX_PAGE_SIZE: whole({ from: 1, to: 500, fallback: 500 }).describe(
      "Most items of a list: the largest `first`, and the length of a list without `first`.",
    ),
    MAX_SCANNED_ROWS: count(2_000).describe(
      "Most rows of a list that the gateway reads for one page, to compare them with a filter that the service cannot be told.",
    ),
    MAX_DEPTH: count(15).describe("Deepest nesting of the document."),
    MAX_TOKENS: count(4_000).describe("Most tokens of the document."),
    MAX_ALIASES: count(100).describe("Most aliases of the document."),
    MAX_ROOT_FIELDS: count(20).describe(
      "Most root fields of a query. A mutation may have half as many, and one `login`.",
    ),
    MAX_FIELDS: count(10_000).describe(
      "Most selected fields: fragments are expanded, and fields below a list argument such as `ids` are multiplied by its length.",
    ),
    MAX_RESULT_FIELDS: count(200_000).describe("Most fields and list items of the result."),
    MAX_RESULT_BYTES: count(32_000_000).describe("Longest result, in bytes."),
  },
  "Limits of one token and of each process": {
    MAX_OPERATIONS: count(256).describe(
      "Most operations at a time. Beyond it requests are rejected with 503.",
    ),
    MAX_OPERATIONS_PER_TOKEN: count(32).describe(
      "Most operations of one token at a time. Beyond it requests are rejected with 429. Where all callers share one token, set it to `MAX_OPERATIONS`.",
    ),
    MAX_UPSTREAM_BYTES: count(128_000_000).describe(
      "Most bytes of upstream responses that the operations of one token hold at a time.",
    ),
    MAX_SUBSCRIPTIONS: count(2_000).describe(
      "Most subscriptions at a time. Beyond it new ones are rejected with 503.",
    ),
    MAX_SUBSCRIPTIONS_PER_TOKEN: count(200).describe(
      "Most subscriptions of one token at a time. Beyond it new ones are rejected with 429.",
    ),
    LIVE_REQUESTS_PER_MINUTE: count(30).describe(
      "Most upstream requests by which the subscriptions of one token poll the service in a minute. The reads of events count as well: polls wait until there is room.",
    ),
    MAX_SIGN_INS: count(500).describe(
      "Most sign-ins by `login` at a time, of which one address may have half. They take no place among the operations.",
    ),
    MAX_DOWNLOADS: count(64).describe("Most downloads at a time."),
    MAX_DOWNLOADS_PER_TOKEN: count(16).describe("Most downloads of one token at a time."),
    MAX_WAITING_BYTES: count(64_000_000).describe(
      "Most bytes of responses that wait for slow readers. Beyond it the slowest readers are disconnected.",
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

export type Config = z.output<typeof Environment>;

/** Invalid settings. The message has one line per fault, with the variable's name and never its value. */
export class ConfigError extends Error {}

/** Reads the environment. A blank variable counts as not set. Throws `ConfigError` with all faults at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ""));
  const secrets = withSecretFiles(given, SETTINGS);
  const result = Environment.safeParse(secrets.values);
  const faultsOfValues = [
    ...faultsIn(result),
    ...(result.success ? [...upstreamFaults(result.data), ...redisFaults(result.data)] : []),
  ];
  // Names the variable that was set.
  const named = faultsOfValues.map((fault) =>
    fault.replace(/^\w+/, (name) => (secrets.fromFiles.has(name) ? `${name}_FILE` : name)),
  );
  const faults = [...secrets.faults, ...named, ...demoFaults(given)];
  if (result.success && faults.length === 0) return result.data;
  throw new ConfigError(faults.join("\n"));
}

/** Reads `TYPE_NAMES` alone. Throws `ConfigError`. */
export function readTypeNames(environment: Readonly<Record<string, string | undefined>>): Renames {
  const result = Environment.pick({ TYPE_NAMES: true }).safeParse({ TYPE_NAMES: environment["TYPE_NAMES"] });
  if (result.success) return result.data.TYPE_NAMES;
  throw new ConfigError(faultsIn(result).join("\n"));
}

const faultsIn = ({ error }: z.ZodSafeParseResult<unknown>): string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

/** Requires `DEMO=on` in production: the demo has known passwords and must not start because of a missing setting. */
function demoFaults({
  UPSTREAM_URL,
  DEMO,
  NODE_ENV,
}: Readonly<Record<string, string | undefined>>): string[] {
  const mayBeDemo = DEMO === undefined ? NODE_ENV !== "production" : DEMO !== "off";
  if (UPSTREAM_URL !== undefined || mayBeDemo) return [];
  const reason =
    DEMO === "off" ? "DEMO is off" : "with NODE_ENV=production the demo starts only with DEMO=on";
  return [`UPSTREAM_URL: expected the address of the service (${reason})`];
}

/** Settings of a process that listens by itself. */
type OfProcess = "HOST" | "PORT" | "WORKERS" | "KEEP_ALIVE_TIMEOUT_MS";

/** The settings of a gateway in another server. `build-types.ts` writes them with their descriptions. */
export type Settings = {
  readonly [Name in Exclude<keyof Config, OfProcess>]?: string | number | undefined;
};
