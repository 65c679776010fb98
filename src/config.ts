import { readFileSync } from "node:fs";
import { z } from "zod";
import { upstreamFaults, upstreamSettings } from "./config/upstream.ts";
import { parseManifest, type TrustedDocuments } from "./engine/documents/persisted.ts";
import { readProfile } from "./config/profile-file.ts";
import { faultsOf } from "./graphql/federation/rename.ts";
import { schema } from "./graphql/schema.ts";
import type { Profile } from "./rest/api/profile.ts";

function whole(bounds: { readonly from: number; readonly to: number; readonly fallback: number }) {
  const error = `expected a whole number from ${bounds.from} to ${bounds.to}`;
  return z.coerce
    .number({ error })
    .int({ error })
    .min(bounds.from, { error })
    .max(bounds.to, { error })
    .default(bounds.fallback);
}
const milliseconds = (fallback: number) => whole({ from: 1, to: 3_600_000, fallback });
const count = (fallback: number) => whole({ from: 1, to: 1_000_000_000, fallback });
const onOff = (fallback: boolean) =>
  z
    .enum(["on", "off"], { error: "expected on or off" })
    .default(fallback ? "on" : "off")
    .transform((value) => value === "on");
const httpUrl = z
  .string()
  .refine(isPlainHttpUrl, "expected an http or https URL without user, query and fragment")
  .transform((text) => new URL(text));

function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === "";
}

const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Parses `Node=ClusterNode,Entity=Node`. */
function parseTypeNames(text: string, context: z.RefinementCtx): Record<string, string> {
  const pairs = listOf(text).map((pair) => /^([A-Z]\w*)=([A-Z][A-Za-z\d]*)$/.exec(pair)?.slice(1) ?? []);
  const renames = Object.fromEntries(pairs) as Record<string, string>;
  const hasDuplicates = pairs.length > Object.keys(renames).length;
  const faults = pairs.every(({ length }) => length === 2)
    ? [
        ...(hasDuplicates ? ["expected each type at most once, got one twice"] : []),
        ...faultsOf(renames, schema),
      ]
    : ["expected pairs such as Node=ClusterNode, separated by commas"];
  if (faults.length === 0) return renames;
  context.addIssue({ code: "custom", message: faults.join("; ") });
  return z.NEVER;
}

function readManifest(path: string, context: z.RefinementCtx): TrustedDocuments {
  try {
    const documents = parseManifest(readFileSync(path, "utf8"));
    if (documents) return documents;
    context.addIssue({ code: "custom", message: "expected a JSON object of hashes and documents" });
  } catch {
    context.addIssue({ code: "custom", message: "expected the path of a file that can be read" });
  }
  return z.NEVER;
}

function profileOf(nameOrPath: string, context: z.RefinementCtx): Profile {
  const found = readProfile(nameOrPath);
  if ("profile" in found) return found.profile;
  for (const message of found.faults) context.addIssue({ code: "custom", message });
  return z.NEVER;
}

/** Parses exact origins, as browsers send them. */
function parseOrigins(text: string, context: z.RefinementCtx): string[] {
  const origins = listOf(text);
  if (origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin)) return origins;
  context.addIssue({
    code: "custom",
    message: "expected origins such as https://app.example.com, separated by commas",
  });
  return z.NEVER;
}

/** Every setting: its variable, its meaning, its default. The README's table is this list. */
const Settings = z.object({
  /** `{base_url}` of the service; a path prefix is kept. Without it the embedded demo service is started. */
  UPSTREAM_URL: httpUrl.optional(),
  /** Whether the demo may start where there is no `UPSTREAM_URL`; unless told, with `NODE_ENV=production` it may not. */
  DEMO: z
    .enum(["on", "off"], { error: "expected on or off" })
    .transform((value) => value === "on")
    .optional(),
  /** What the server does differently from the document: a built-in profile, or the path of a file that describes it. */
  UPSTREAM_PROFILE: z.string().transform(profileOf).optional(),
  ...upstreamSettings,
  /** What types are called towards callers, where it is not our name: `Node=ClusterNode,Entity=Node`. */
  TYPE_NAMES: z.string().default("").transform(parseTypeNames),
  /** Address to listen on. */
  HOST: z.string().min(1).default("127.0.0.1"),
  /** Port to listen on; 0 takes a free one. */
  PORT: whole({ from: 0, to: 65_535, fallback: 4000 }),
  /** Where callers reach the gateway, for download URLs; without it the address of the request is used. */
  PUBLIC_URL: httpUrl.optional(),
  /** The GraphiQL page. */
  GRAPHIQL: onOff(true),
  /** Introspection of the schema. */
  INTROSPECTION: onOff(true),
  /** A manifest of documents; no other is run then. */
  TRUSTED_DOCUMENTS: z.string().transform(readManifest).optional(),
  /** Automatic persisted queries. */
  APQ: onOff(true),
  /** Parsed documents that are kept, in bytes; the texts of automatic persisted queries may take a quarter of it besides. */
  DOCUMENT_CACHE_BYTES: count(16_000_000),
  /** How long one GraphQL request may take. */
  REQUEST_TIMEOUT_MS: milliseconds(30_000),
  /** How long a connection to the service may take to open. */
  UPSTREAM_CONNECT_TIMEOUT_MS: milliseconds(2_000),
  /** How long the service may take to begin an answer. */
  UPSTREAM_HEADERS_TIMEOUT_MS: milliseconds(10_000),
  /** How long one exchange with the service may take in all. Streams have no such end. */
  UPSTREAM_TIMEOUT_MS: milliseconds(15_000),
  /** How long a log or download may be silent. */
  UPSTREAM_IDLE_TIMEOUT_MS: milliseconds(30_000),
  /** How many times a GET is tried again when the service was out of reach. */
  UPSTREAM_RETRIES: whole({ from: 0, to: 10, fallback: 2 }),
  /** Connections to the service. */
  UPSTREAM_CONNECTIONS: count(128),
  /** Connections to the service that one token may use at a time. */
  UPSTREAM_CONNECTIONS_PER_TOKEN: count(16),
  /** Exchanges that may wait for a connection; beyond them the gateway is overloaded. */
  UPSTREAM_QUEUE: count(500),
  /** Exchanges of one GraphQL request at a time. */
  MAX_UPSTREAM_WIDTH: count(32),
  /** Exchanges of one GraphQL request in all. */
  MAX_UPSTREAM_REQUESTS: count(200),
  /** Bytes of the service's answers that the GraphQL requests of one token may hold at a time. */
  MAX_UPSTREAM_BYTES: count(128_000_000),
  /** Longest JSON answer of the service, in bytes after decompression. */
  MAX_JSON_BYTES: count(10_000_000),
  /** Longest log window, in bytes. */
  MAX_LOG_BYTES: whole({ from: 1, to: 1_048_576, fallback: 1_048_576 }),
  /** Longest page of a list. */
  MAX_PAGE_SIZE: whole({ from: 1, to: 500, fallback: 500 }),
  /** Deepest nesting of an operation. */
  MAX_DEPTH: count(15),
  /** Longest document, in tokens. */
  MAX_TOKENS: count(4_000),
  /** Most aliases of a document. */
  MAX_ALIASES: count(100),
  /** Most fields at the root of a query; of a mutation it is half of that. */
  MAX_ROOT_FIELDS: count(20),
  /** Most fields that an operation selects, its fragments expanded, each times the length of list arguments above it. */
  MAX_FIELDS: count(10_000),
  /** Most fields and list items of a result. */
  MAX_RESULT_FIELDS: count(200_000),
  /** Longest result, in bytes. */
  MAX_RESULT_BYTES: count(32_000_000),
  /** GraphQL requests at a time; beyond them one is refused at once. */
  MAX_OPERATIONS: count(256),
  /** GraphQL requests of one token at a time; beyond them one is refused at once. */
  MAX_OPERATIONS_PER_TOKEN: count(32),
  /** Downloads at a time. */
  MAX_DOWNLOADS: count(64),
  /** Downloads of one token at a time. */
  MAX_DOWNLOADS_PER_TOKEN: count(16),
  /** Bytes of answers that may wait for slow readers, over all; beyond them those who took longest are let go. */
  MAX_WAITING_BYTES: count(64_000_000),
  /** How long a caller may take to read 64 kB of its answer. */
  READ_TIMEOUT_MS: milliseconds(10_000),
  /** Longest body of a request, in bytes. */
  MAX_BODY_BYTES: count(256_000),
  /** Origins whose pages may ask, separated by commas, such as `https://app.example.com`. No credentials are taken. */
  CORS_ORIGINS: z.string().default("").transform(parseOrigins),
  /** `/metrics` for Prometheus. */
  METRICS: onOff(true),
  /** How long requests under way may take when the gateway is asked to stop. */
  DRAIN_TIMEOUT_MS: milliseconds(25_000),
  /** What is logged: trace, debug, info, warn, error, fatal or silent. */
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

/** The names of all settings. */
export const SETTINGS: readonly string[] = Object.keys(Settings.shape);

export type Config = z.output<typeof Settings>;

/** Invalid settings. The message has one line per fault, with the variable's name and never its value. */
export class ConfigError extends Error {}

/** Reads the environment. A blank variable counts as not set. Throws `ConfigError` with all faults at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ""));
  const result = Settings.safeParse(given);
  const faults = [
    ...(result.error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`),
    ...demoFaults(given),
    ...(result.success ? upstreamFaults(result.data) : []),
  ];
  if (result.success && faults.length === 0) return result.data;
  throw new ConfigError(faults.join("\n"));
}

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
