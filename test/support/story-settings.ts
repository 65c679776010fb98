import { NO_DEADLINES } from "./patience.ts";

/**
 * Settings and bounds that stories run under, whatever the defaults are: none is reached by chance, on a machine of any
 * speed. A story about one sets it.
 */
export const STORY_SETTINGS: Readonly<Record<string, string>> = {
  ...NO_DEADLINES,
  UPSTREAM_CONNECT_TIMEOUT_MS: "600000",
  UPSTREAM_HEADERS_TIMEOUT_MS: "600000",
  UPSTREAM_IDLE_TIMEOUT_MS: "600000",
  UPSTREAM_RETRIES: "0",
  UPSTREAM_CONNECTIONS: "128",
  UPSTREAM_CONNECTIONS_PER_TOKEN: "32",
  UPSTREAM_QUEUE: "500",
  UPSTREAM_RATE_LIMIT: "off",
  MAX_UPSTREAM_WIDTH: "32",
  MAX_UPSTREAM_REQUESTS: "200",
  MAX_UPSTREAM_BYTES: "128000000",
  MAX_JSON_BYTES: "10000000",
  MAX_LOG_BYTES: "1048576",
  MAX_PAGE_SIZE: "500",
  MAX_SCANNED_ROWS: "2000",
  MAX_DEPTH: "15",
  MAX_TOKENS: "4000",
  MAX_ALIASES: "200",
  MAX_ROOT_FIELDS: "100",
  MAX_FIELDS: "10000",
  MAX_RESULT_FIELDS: "200000",
  MAX_RESULT_BYTES: "32000000",
  MAX_OPERATIONS: "256",
  MAX_OPERATIONS_PER_TOKEN: "64",
  MAX_SIGN_INS: "500",
  MAX_DOWNLOADS: "64",
  MAX_DOWNLOADS_PER_TOKEN: "16",
  MAX_SUBSCRIPTIONS: "2000",
  MAX_SUBSCRIPTIONS_PER_TOKEN: "2000",
  LIVE_REQUESTS_PER_MINUTE: "1000",
  MAX_WAITING_BYTES: "64000000",
  MAX_BODY_BYTES: "256000",
};

/** For stories about the gateway as it comes: what is blank counts as not set. */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(STORY_SETTINGS).map((name) => [name, ""]),
);
