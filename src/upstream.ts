import type { Config } from "./config.ts";
import type { Demo } from "../demo/service.ts";
import type { Upstream } from "./workers/messages.ts";

/** Starts the embedded demo unless there is a service. */
export async function startDemo({ UPSTREAM_URL }: Config): Promise<Demo | null> {
  if (UPSTREAM_URL) return null;
  const service = await import("../demo/service.ts");
  return service.startDemo({ activity: true });
}

/** The service behind the gateway: `UPSTREAM_URL`, or the embedded demo. */
export const upstreamOf = ({ UPSTREAM_URL }: Config, demo: Demo | null): Upstream => ({
  url: demo?.url ?? UPSTREAM_URL?.href ?? "",
  exampleToken: demo?.users[0]?.token ?? null,
});

/** The options of a gateway in front of the service. */
export const optionsOf = (config: Config, { url, exampleToken }: Upstream) => ({
  upstreamUrl: new URL(url),
  ...(exampleToken === null
    ? { config }
    : {
        // The demo is such a server without a throttle.
        config: { ...config, UPSTREAM_RATE_LIMIT: config.UPSTREAM_RATE_LIMIT ?? null },
        exampleToken,
        profile: "polyaxon-0.4" as const,
      }),
});
