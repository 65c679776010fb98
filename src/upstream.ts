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
    config,
    upstreamUrl: new URL(demo.url),
    exampleToken: demo.users[0]?.token ?? "",
    profile: "demo" as const,
  };
  return { demo, options };
}
