import type { Config } from "./config.ts";
import type { GatewayFacts } from "./graphql/core/context.ts";
import { version } from "./installation.ts";
import { user } from "./rest/api/kinds.ts";
import { limitOf } from "./rate.ts";
import type { Profile } from "./rest/api/profile.ts";
import { describeServer, type Server } from "./rest/api/server.ts";
import type { Dialect } from "./rest/client/request.ts";

/** What the server can do, how it is spoken to, and what callers are told of it. */
export function describeService(config: Config, fallback: Profile, upstreamUrl: URL) {
  const server = describeServer(config.UPSTREAM_PROFILE ?? fallback);
  return { server, dialect: dialectOf(config, server, upstreamUrl), facts: factsOf(config, server) };
}

function dialectOf(config: Config, server: Server, upstreamUrl: URL): Dialect {
  const { profile, override } = server;
  const segments = [upstreamUrl.pathname, profile.basePath].flatMap((path) => path.split("/"));
  return {
    pathPrefix: ["", ...segments.filter((segment) => segment !== ""), ""].join("/"),
    authorizationScheme: profile.authorization.scheme,
    headers: { "user-agent": `rungraph/${version}`, ...config.UPSTREAM_HEADERS },
    secrets: Object.values(config.UPSTREAM_HEADERS).flatMap(secretWordsOf),
    cheapest: override(user.me) ?? user.me,
    limitOf: limitFor(config, server),
  };
}

/** What limits the requests to an endpoint: one object for all that are counted together; null where it is not known. */
function limitFor({ UPSTREAM_RATE_LIMIT: given }: Config, { profile, limits }: Server): Dialect["limitOf"] {
  if (given === null) return () => null;
  const common = profile.rateLimits.find(({ endpoints }) => !endpoints);
  const limit = given ?? (common ? limitOf(common.requests, common.seconds) : null);
  return (endpoint) => limits.get(endpoint) ?? limit;
}

/** Shorter words in a header, in characters, are not treated as secrets: they occur in messages by chance. */
const MIN_SECRET_LENGTH = 8;

const secretWordsOf = (value: string): string[] =>
  value.split(/\s+/).filter(({ length }) => length >= MIN_SECRET_LENGTH);

const factsOf = (config: Config, server: Server): GatewayFacts => ({
  version,
  upstreamApiVersion: server.profile.apiVersion,
  capabilities: server.capabilities,
  maxUpstreamRequests: config.MAX_UPSTREAM_REQUESTS,
  maxRootFields: config.MAX_ROOT_FIELDS,
  maxPageSize: config.MAX_PAGE_SIZE,
  maxScannedRows: config.MAX_SCANNED_ROWS,
  maxLogBytes: config.MAX_LOG_BYTES,
});
