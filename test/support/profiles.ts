import { startDemoGateway, still } from "./demo-gateway.ts";

export type ProfileName = "document" | "polyaxon-0.2" | "polyaxon-0.4";

export const POLYAXON: readonly ProfileName[] = ["polyaxon-0.2", "polyaxon-0.4"];

/** What `gateway.capabilities` tells of each profile. */
export const CAPABILITIES: Readonly<Record<ProfileName, readonly string[]>> = {
  document: [],
  "polyaxon-0.2": [
    "LISTS",
    "BOOKMARKS",
    "FILTERS",
    "METRIC_ORDERS",
    "OFFSETS",
    "PROJECT_RECORDS",
    "PROJECT_COMMANDS",
    "UPDATE_NAME",
    "UPDATE_TAGS",
    "RESTART_DESCRIPTION",
    "RESTART_DECLARATIONS",
    "RESTART_UPDATE_CODE",
  ],
  "polyaxon-0.4": [
    "LISTS",
    "EXPERIMENT_JOB_LOGS",
    "BOOKMARKS",
    "ARCHIVES",
    "FILTERS",
    "METRIC_ORDERS",
    "OFFSETS",
    "BULK_COMMANDS",
    "PROJECT_RECORDS",
    "PROJECT_COMMANDS",
    "PROJECT_BOOKMARKS",
    "PROJECT_ARCHIVES",
    "CODE_REFERENCES",
    "OUTPUT_FILES",
    "UPDATE_NAME",
    "UPDATE_TAGS",
    "UPDATE_README",
    "RESTART_DESCRIPTION",
    "RESTART_DECLARATIONS",
    "RESTART_UPDATE_CODE",
  ],
};

/** The demo, standing still, behind a gateway with a profile. */
export const startProfile = (profile: ProfileName = "polyaxon-0.4", env: Record<string, string> = {}) => {
  return startDemoGateway({ now: still, env: { UPSTREAM_PROFILE: profile, ...env } });
};
