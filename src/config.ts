import { createSecureContext } from "node:tls";
import * as z from "zod";
import { type FixedLimits, fixedLimitsFor } from "./config/fixed-limits.ts";
import { readNames, suspiciousNames, type Environment } from "./config/names.ts";
import { profileOf } from "./config/profile-file.ts";
import { invalidHashes } from "./engine/documents/persisted.ts";
import { systemCodeOf } from "./errors.ts";
import { builtInProfile } from "./rest/api/profiles.ts";
import type { Renames } from "./graphql/federation/rename.ts";
import { schemaFor } from "./graphql/schema.ts";
import {
  certificateFile,
  count,
  httpUrl,
  isOn,
  keyFile,
  milliseconds,
  parseHeaders,
  parseOrigins,
  parseProxy,
  parseTrustedProxies,
  parseTypeNames,
  rateLimit,
  readManifest,
  whole,
} from "./config/values.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** All settings. docs/settings.md explains them in the same order. */
const Environment = z.object({
  UPSTREAM_URL: httpUrl.optional(),
  UPSTREAM_PROFILE: z.string().transform(profileOf).optional(),
  DEMO: isOn.optional(),
  UPSTREAM_HEADERS: z.string().default("{}").transform(parseHeaders),
  UPSTREAM_PROXY: z.string().transform(parseProxy).optional(),
  UPSTREAM_CA_FILE: certificateFile.optional(),
  UPSTREAM_CERT_FILE: certificateFile.optional(),
  UPSTREAM_KEY_FILE: keyFile.optional(),

  HOST: z.string().min(1).default("127.0.0.1"),
  PORT: whole(0, 65_535, 4000),
  PUBLIC_URL: httpUrl.optional(),
  CORS_ORIGINS: z.string().default("").transform(parseOrigins),
  TRUSTED_PROXIES: z.string().default("").transform(parseTrustedProxies),
  MAX_BODY_BYTES: count(256_000),
  KEEP_ALIVE_TIMEOUT_MS: milliseconds(75_000),
  DRAIN_TIMEOUT_MS: milliseconds(25_000),
  METRICS: isOn.default(true),
  FIELD_METRICS: z
    .enum(["off", "deprecated", "all"], { error: "expected off, deprecated or all" })
    .default("off"),
  LOG_LEVEL: z
    .string()
    .toLowerCase()
    .pipe(z.enum(LOG_LEVELS, { error: `expected one of ${LOG_LEVELS.join(", ")}` }))
    .default("info"),
  CALLER_SALT: z.string().min(16, "expected at least 16 characters").optional(),

  GRAPHIQL: isOn.default(true),
  EXPLAIN: isOn.optional(),
  INTROSPECTION: isOn.default(true),
  TYPE_NAMES: z.string().default("").transform(parseTypeNames),
  TRUSTED_DOCUMENTS: z.string().transform(readManifest).optional(),
  MCP: z.enum(["off", "read", "write"], { error: "expected off, read or write" }).default("off"),

  REQUEST_TIMEOUT_MS: milliseconds(30_000),
  UPSTREAM_TIMEOUT_MS: milliseconds(15_000),
  UPSTREAM_RATE_LIMIT: rateLimit.optional(),
  UPSTREAM_CONNECTIONS: count(128),
  UPSTREAM_CONNECTIONS_PER_TOKEN: count(64),
  CACHE_TTL_MS: whole(0, 3_600_000, 0),
  STALE_MAX_AGE_MS: whole(0, 3_600_000, 0),

  MAX_UPSTREAM_REQUESTS: count(200),
  MAX_JSON_BYTES: count(10_000_000),
  MAX_PAGE_SIZE: whole(1, 500, 500),
  MAX_DEPTH: count(15),
  MAX_FIELDS: count(10_000),
  MAX_RESULT_BYTES: count(8_000_000),

  MAX_OPERATIONS: count(256),
  MAX_OPERATIONS_PER_TOKEN: count(32),
  MAX_SUBSCRIPTIONS: count(2_000),
  LIVE_REQUESTS_PER_MINUTE: count(60),
});

export const SETTINGS: readonly string[] = Object.keys(Environment.shape);

export type Config = z.output<typeof Environment> & FixedLimits;

/** Whether GraphiQL is served. With trusted documents the page would be useless. */
export const hasPage = ({ GRAPHIQL, TRUSTED_DOCUMENTS }: Config): boolean => GRAPHIQL && !TRUSTED_DOCUMENTS;

/** Thrown for invalid settings. The message has one line per issue, with the name of the variable and never its value. */
export class ConfigError extends Error {}

/** Reads the environment. Throws `ConfigError` with all issues at once. */
export function readConfig(environment: Environment): Config {
  const { values, files, issues } = readNames(environment, SETTINGS);
  const result = Environment.safeParse(values);
  const issuesOfValues = result.success
    ? upstreamIssues(result.data)
    : result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  // An issue names the variable that was set, which may be `NAME_FILE`.
  const named = issuesOfValues.map((issue) => issue.replace(/^\w+/, (name) => files.get(name) ?? name));
  const all = [...issues, ...named, ...demoIssues(values)];
  if (result.success && all.length === 0) return { ...fixedLimitsFor(result.data), ...result.data };
  throw new ConfigError(all.join("\n"));
}

/** Warnings about settings that are valid but probably unintended, one line each. No line contains a value. */
export const warningsOf = (environment: Environment, { UPSTREAM_URL, UPSTREAM_PROFILE }: Config) => {
  const { basePath } = UPSTREAM_PROFILE ?? builtInProfile("document");
  const base = basePath.replace(/\/$/, "");
  const isDoubled = base !== "" && UPSTREAM_URL?.pathname.replace(/\/$/, "").endsWith(base);
  return [
    ...suspiciousNames(environment, SETTINGS),
    ...(isDoubled ? [`UPSTREAM_URL ends with ${base}, which the profile adds: omit it`] : []),
  ];
};

/** Warns of trusted documents that the schema rejects, as after an upgrade. The gateway starts, because the others can be run. */
export function documentWarnings({ TRUSTED_DOCUMENTS: trusted, TYPE_NAMES }: Config): string[] {
  const [first, ...more] = trusted ? invalidHashes(trusted, schemaFor(TYPE_NAMES)) : [];
  if (!trusted || first === undefined) return [];
  const share = `${more.length + 1} of ${trusted.size}`;
  return [`TRUSTED_DOCUMENTS: ${share} documents do not match the schema, the first is ${first}`];
}

/** Reads `TYPE_NAMES` alone. Throws `ConfigError` if it is invalid. */
export const readTypeNames = ({ TYPE_NAMES, TYPE_NAMES_FILE }: Environment): Renames =>
  readConfig({ TYPE_NAMES, TYPE_NAMES_FILE }).TYPE_NAMES;

/**
 * Checks whether the demo may start. In production it requires `DEMO=on`, because it has known passwords and must not start just because
 * `UPSTREAM_URL` is missing.
 */
function demoIssues({ UPSTREAM_URL, DEMO, NODE_ENV }: Environment): string[] {
  const mayBeDemo = DEMO === undefined ? NODE_ENV !== "production" : DEMO !== "off";
  if (UPSTREAM_URL !== undefined || mayBeDemo) return [];
  const reason =
    DEMO === "off" ? "DEMO is off" : "with NODE_ENV=production the demo starts only with DEMO=on";
  return [`UPSTREAM_URL: expected the address of the service (${reason})`];
}

/** Returns the issues of settings that depend on each other. */
function upstreamIssues(settings: z.output<typeof Environment>): string[] {
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
    // The code of OpenSSL, such as ERR_SSL_EE_KEY_TOO_SMALL.
    const code = systemCodeOf(error);
    const first = "the first certificate in UPSTREAM_CERT_FILE";
    if (code.includes("_KEY_") && code.endsWith("_MISMATCH"))
      return [`UPSTREAM_KEY_FILE: expected the key of ${first}, got another`];
    const name = cert ? "UPSTREAM_CERT_FILE" : "UPSTREAM_CA_FILE";
    return [`${name}: expected what OpenSSL accepts, got a fault (${code})`];
  }
}
