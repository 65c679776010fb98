import * as z from "zod";
import { certificateFile, isDecodable } from "./upstream.ts";
import { milliseconds, onOff } from "./values.ts";

// No message contains a value: the URL may have a password.

function parseRedisUrl(text: string, context: z.RefinementCtx): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isRedis = url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "";
  if (url && !isDecodable(url.username + url.password)) {
    context.addIssue({ code: "custom", message: "expected % in user and password as %25" });
    return z.NEVER;
  }
  if (isRedis && /^(?:\/\d*)?$/.test(url.pathname) && url.search + url.hash === "") return url;
  context.addIssue({
    code: "custom",
    message:
      "expected a URL such as redis://redis.example.com:6379/0 or rediss://…, in which user and password may stand",
  });
  return z.NEVER;
}

/** What processes share by Redis. */
export const redisSettings = {
  REDIS_URL: z.string().transform(parseRedisUrl).optional().meta({
    description:
      "Redis or Valkey by which replicas and workers share automatic persisted queries, the polls of subscriptions and what the service allows a token: `redis://user:password@host:6379/0`, or `rediss://` for TLS. See [operations.md](operations.md#sharing-by-redis).",
    unset: "each process is on its own",
  }),
  REDIS_CA_FILE: certificateFile.optional().meta({
    description: "PEM file of the authorities that may sign the certificate of Redis.",
    unset: "the authorities of Node",
  }),
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w:.-]{1,64}$/, { error: "expected 1 to 64 letters, digits and _ : . -" })
    .default("rungraph:")
    .describe("Prefix of the keys in Redis."),
  REDIS_TIMEOUT_MS: milliseconds(250).describe(
    "Longest time of a command in Redis, in milliseconds. After that each process is on its own for 5 seconds.",
  ),
  REDIS_SHARED_READS: onOff(false).describe(
    "Whether kept responses (`CACHE_TTL_MS`) are shared by Redis as well, encrypted. Operations then see what other processes have kept, and never anything older than the last command of their token.",
  ),
};

interface Given {
  readonly REDIS_URL?: URL | undefined;
  readonly REDIS_CA_FILE?: string | undefined;
  readonly REDIS_SHARED_READS: boolean;
}

/** Checks settings that depend on each other. */
export const redisFaults = ({ REDIS_URL: url, REDIS_CA_FILE: ca, REDIS_SHARED_READS }: Given): string[] => [
  ...(ca !== undefined && url?.protocol !== "rediss:"
    ? ["REDIS_CA_FILE: expected a rediss REDIS_URL as well"]
    : []),
  ...(REDIS_SHARED_READS && !url ? ["REDIS_SHARED_READS: expected REDIS_URL as well"] : []),
];
