import type { Config } from "./config.ts";

/**
 * The service behind a gateway: `UPSTREAM_URL`, or the embedded demo, which it starts. `options` are those of a gateway in
 * front of it; `demo` is null with a real service.
 */
export async function openUpstream(config: Config) {
  if (config.UPSTREAM_URL) return { demo: null, options: { config, upstreamUrl: config.UPSTREAM_URL } };
  const service = await import("../demo/service.ts");
  const demo = await service.startDemo({ activity: true });
  const options = {
    // The demo is such a server without a throttle.
    config: { ...config, UPSTREAM_RATE_LIMIT: config.UPSTREAM_RATE_LIMIT ?? null },
    upstreamUrl: new URL(demo.url),
    exampleToken: demo.users[0]?.token ?? "",
    profile: "polyaxon-0.4" as const,
  };
  return { demo, options };
}
