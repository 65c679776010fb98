import { startDemoGateway, still } from "./demo-gateway.ts";

export type ProfileName = "document" | "polyaxon-0.2" | "polyaxon-0.4";

export const POLYAXON: readonly ProfileName[] = ["polyaxon-0.2", "polyaxon-0.4"];

/** Starts the demo with a fixed clock, behind a gateway with a profile. */
export const startProfile = (profile: ProfileName = "polyaxon-0.4", env: Record<string, string> = {}) =>
  startDemoGateway({ now: still, env: { UPSTREAM_PROFILE: profile, ...env } });
