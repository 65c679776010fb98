import { get } from "./endpoint.ts";
import { Text } from "./reader.ts";
import { Builds, Experiments, Groups, Jobs, Metrics, Projects } from "./records.ts";

const P = "{owner}/{project}";

/** Rows that the service's document does not show and some servers have. A profile says which. */
export const lists = {
  projects: get("{owner}", Projects),
  experiments: get(`${P}/experiments`, Experiments),
  jobs: get(`${P}/jobs`, Jobs),
  builds: get(`${P}/builds`, Builds),
  groups: get(`${P}/groups`, Groups),
  groupMetrics: get(`${P}/groups/{id}/metrics`, Metrics),
  experimentJobLogs: get(`${P}/experiments/{experiment}/jobs/{id}/logs`, Text),
};
