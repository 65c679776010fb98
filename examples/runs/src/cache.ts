import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";

/** Objects without an id of their own: they are kept as parts of what they belong to. */
const PARTS = [
  "Breakdown",
  "CodeReference",
  "ComparedValues",
  "ExperimentComparison",
  "ExperimentConnection",
  "ExperimentCounts",
  "ExperimentJobConnection",
  "ExperimentSummary",
  "GatewayInfo",
  "Gpu",
  "GroupConnection",
  "JobConnection",
  "LogChunk",
  "MetricPoint",
  "MetricRecordConnection",
  "MetricSeries",
  "MetricStatistics",
  "MetricSummary",
  "MetricValue",
  "OutputFile",
  "OutputFolder",
  "OutputSubfolder",
  "PageInfo",
  "ParameterImportance",
  "ParameterRange",
  "ParameterValue",
  "ProjectConnection",
  "RunConfig",
  "RunUpdate",
  "StatusRecordConnection",
];

/**
 * A cache by the global ids of the gateway: what a mutation or a live event says of a run shows wherever the run is
 * shown. Pages of a list are merged into one.
 */
export const cache = () =>
  cacheExchange({
    keys: Object.fromEntries(PARTS.map((name) => [name, () => null])),
    possibleTypes: {
      Run: ["BuildJob", "Experiment", "Group", "Job"],
      Trackable: ["BuildJob", "Experiment", "ExperimentJob", "Group", "Job"],
    },
    resolvers: {
      User: { projects: relayPagination() },
      Project: { experiments: relayPagination() },
      Group: { experiments: relayPagination() },
    },
  });
