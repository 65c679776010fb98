import type { Config } from "./config.ts";
import type { Demo } from "./demo/service.ts";
import type { Upstream } from "./workers/messages.ts";

/** Starts the embedded demo unless there is a service. */
export async function startDemo({ UPSTREAM_URL }: Config): Promise<Demo | null> {
  if (UPSTREAM_URL) return null;
  const service = await import("./demo/service.ts");
  return service.startDemo({ activity: true });
}

/** The service behind the gateway: `UPSTREAM_URL`, or the embedded demo. */
export const upstreamOf = ({ UPSTREAM_URL }: Config, demo: Demo | null): Upstream => ({
  url: demo?.url ?? UPSTREAM_URL?.href ?? "",
  exampleToken: demo?.users[0]?.token ?? null,
});

/** The options of a gateway in front of the service. */
export const optionsOf = (config: Config, { url, exampleToken }: Upstream) => ({
  config,
  upstreamUrl: new URL(url),
  ...(exampleToken === null ? {} : { exampleToken, profile: "polyaxon-0.4" as const }),
});
