import type { Config } from "./config.ts";
import type { GatewayDetails } from "./graphql/core/context.ts";
import { version } from "./package-info.ts";
import { user } from "./rest/api/kinds.ts";
import { perSeconds } from "./util/sliding-window.ts";
import type { Profile } from "./rest/api/profile.ts";
import { resolveProfile } from "./rest/api/server.ts";
import type { RequestFormat } from "./rest/client/request.ts";

/**
 * Derives the configuration of the upstream service: the server with its capabilities, the format of its requests, and the details that
 * callers see.
 */
export function toUpstreamConfig(config: Config, fallback: Profile, upstreamUrl: URL) {
  const server = resolveProfile(config.UPSTREAM_PROFILE ?? fallback);
  const { profile, override, limits } = server;
  const { UPSTREAM_RATE_LIMIT: given } = config;
  const common = profile.rateLimits.find(({ endpoints }) => !endpoints);
  const limit = given ?? (common ? perSeconds(common.requests, common.seconds) : null);
  const segments = [upstreamUrl.pathname, profile.basePath].flatMap((path) => path.split("/"));
  const requestFormat: RequestFormat = {
    pathPrefix: ["", ...segments.filter((segment) => segment !== ""), ""].join("/"),
    authorizationScheme: profile.authorization.scheme,
    headers: { "user-agent": `rungraph/${version}`, ...config.UPSTREAM_HEADERS },
    secrets: Object.values(config.UPSTREAM_HEADERS).flatMap(secretWordsOf),
    cheapest: override(user.me) ?? user.me,
    limitOf: given === null ? () => null : (endpoint) => limits.get(endpoint) ?? limit,
  };
  const details: GatewayDetails = {
    version,
    upstreamApiVersion: profile.apiVersion,
    timeZone: profile.timeZone,
    capabilities: server.capabilities,
    maxUpstreamRequests: config.MAX_UPSTREAM_REQUESTS,
    maxRootFields: config.MAX_ROOT_FIELDS,
    maxPageSize: config.MAX_PAGE_SIZE,
    maxScannedRows: config.MAX_SCANNED_ROWS,
    maxLogBytes: config.MAX_LOG_BYTES,
  };
  return { server, requestFormat, details };
}

/** Words of a header that are shorter than this, in characters, are not treated as secrets, because they occur in messages by chance. */
const MIN_SECRET_LENGTH = 8;

const secretWordsOf = (value: string): string[] =>
  value.split(/\s+/).filter(({ length }) => length >= MIN_SECRET_LENGTH);

/**
 * Opens the upstream service of a gateway: `UPSTREAM_URL`, or the embedded demo, which is started. `options` are the settings of a gateway
 * for this service. `demo` is null with a real service.
 */
export async function openUpstream(config: Config) {
  if (config.UPSTREAM_URL) return { demo: null, options: { config, upstreamUrl: config.UPSTREAM_URL } };
  const service = await import("../demo/service.ts");
  const demo = await service.startDemo({ activity: true });
  const options = {
    config,
    upstreamUrl: new URL(demo.url),
    exampleToken: demo.users[0]?.token ?? "",
    profile: "demo" as const,
  };
  return { demo, options };
}
