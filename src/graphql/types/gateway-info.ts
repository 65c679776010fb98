import { uncapital } from "../../rest/api/kind.ts";
import { runKinds } from "../../rest/api/kinds.ts";
import type { Capability as CapabilityName } from "../../rest/api/server.ts";
import { builder } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { GatewayFacts } from "../core/context.ts";
import { plural } from "../core/kinds.ts";

/** The fields of a type with the lists of all kinds that have this endpoint: `` `Project.experiments`, `.jobs` ``. */
function fieldsOf(
  type: string,
  endpoint: "list" | "bookmarked" | "archived",
  nameOf: (lists: string) => string,
) {
  const kinds = runKinds.filter(({ optional }) => optional?.[endpoint]);
  return kinds.map(({ name }, index) => `\`${index === 0 ? type : ""}.${nameOf(plural(name))}\``).join(", ");
}

const Capability = builder.enumType("Capability", {
  description: "Capabilities that some servers have in addition to the documented API.",
  values: {
    LISTS: {
      description: `Lists: \`projects\`, \`runs\`, \`groups\`, \`User.projects\`, ${fieldsOf("Project", "list", uncapital)}, \`Group.experiments\`, \`BuildJob.experiments\`, \`.jobs\`, \`Experiment.clones\`.`,
    },
    EXPERIMENT_JOB_LOGS: { description: "`ExperimentJob.logs`." },
    FILTERS: {
      description:
        "The argument `filter` of lists of runs and of `runsUpdated`, `BuildJob.experiments` and `BuildJob.jobs`.",
    },
    METRIC_ORDERS: {
      description:
        "`metric` of the argument `order` of lists of experiments, and the argument `orderByMetric`.",
    },
    OFFSETS: { description: "The argument `offset` of lists of runs and projects." },
    BULK_COMMANDS: { description: "The mutations `stopExperiments` and `deleteExperiments`." },
    PROJECT_RECORDS: { description: "Fields of `Project` beyond its name, its owner and its runs." },
    PROJECT_COMMANDS: {
      description: "The mutations `createProject`, `updateProject` and `deleteProject`.",
    },
    PROJECT_BOOKMARKS: { description: "The mutations `bookmarkProject` and `unbookmarkProject`." },
    PROJECT_ARCHIVES: { description: "The mutations `archiveProject` and `restoreProject`." },
    CODE_REFERENCES: { description: "`Experiment.codeReference`." },
    OUTPUT_FILES: {
      description: "`Experiment.outputFiles`, `Job.outputFiles`, and the downloads of single files.",
    },
    UPDATE_NAME: { description: "The input `name` of the update mutations." },
    UPDATE_TAGS: { description: "The inputs `tags`, `addTags` and `removeTags` of the update mutations." },
    UPDATE_README: { description: "The input `readme` of the update mutations." },
    RESTART_DESCRIPTION: { description: "The input `description` of `restartExperiment`." },
    RESTART_DECLARATIONS: { description: "The input `declarations` of `restartExperiment`." },
    RESTART_UPDATE_CODE: { description: "The input `updateCode` of `restartExperiment`." },
    BOOKMARKS: {
      description: `Bookmarks: ${fieldsOf("User", "bookmarked", (name) => `bookmarked${name}`)}, \`.bookmarkedProjects\`.`,
    },
    ARCHIVES: {
      description: `Archives: the mutations \`archive…\` and \`restore…\`, and ${fieldsOf("User", "archived", (name) => `archived${name}`)}, \`.archivedProjects\`.`,
    },
  } satisfies Record<CapabilityName, object>,
});

const GatewayLimits = builder.objectRef<GatewayFacts>("GatewayLimits").implement({
  description: "Limits of an operation.",
  fields: (t) => ({
    maxDepth: t.exposeInt("maxDepth", { nullable: false, description: "Maximum depth of the document." }),
    maxUpstreamRequests: t.exposeInt("maxUpstreamRequests", {
      nullable: false,
      description: "Maximum number of upstream requests.",
    }),
    maxPageSize: t.exposeInt("maxPageSize", {
      nullable: false,
      description: "Maximum length of a page, in items: the largest `first` of lists.",
    }),
    maxRootFields: t.exposeInt("maxRootFields", {
      nullable: false,
      description: "Maximum number of fields at the root of a mutation.",
    }),
    maxIds: t.int({
      nullable: false,
      description:
        "Maximum number of ids of one field: `entities`, `compareRuns`, and the mutations of several runs, such as `stopRuns` and `stopExperiments`.",
      resolve: () => MAX_IDS,
    }),
    maxScannedRows: t.exposeInt("maxScannedRows", {
      nullable: false,
      description:
        "Maximum number of rows of a list that are read for one page, where the gateway compares them with a filter.",
    }),
    maxLogBytes: t.exposeInt("maxLogBytes", {
      nullable: false,
      description: "Maximum size of a log window, in bytes.",
    }),
  }),
});

const GatewayInfo = builder.objectRef<GatewayFacts>("GatewayInfo").implement({
  description: "The gateway: its version, limits and capabilities. Requires no token.",
  fields: (t) => ({
    version: t.exposeString("version", { nullable: false, description: "Version of the gateway." }),
    upstreamApiVersion: t.exposeString("upstreamApiVersion", {
      nullable: false,
      description: "Version of the upstream API, such as `v1`.",
    }),
    capabilities: t.field({
      type: [Capability],
      nullable: false,
      description:
        "Available capabilities. Fields that require another one are null with the code `CAPABILITY_UNAVAILABLE`.",
      resolve: ({ capabilities }) => capabilities,
    }),
    limits: t.field({
      type: GatewayLimits,
      nullable: false,
      description: "Limits of an operation.",
      resolve: (facts) => facts,
    }),
  }),
});

builder.queryField("gateway", (t) =>
  t.field({
    type: GatewayInfo,
    nullable: false,
    description: "The gateway: its version, limits and capabilities. Requires no token.",
    resolve: (_, _args, { gateway }) => gateway,
  }),
);
