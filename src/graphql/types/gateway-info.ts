import { builder } from "../core/builder.ts";
import type { GatewayFacts } from "../core/context.ts";

const Capability = builder.enumType("Capability", {
  description:
    "Abilities that some upstream servers have although the service's document does not show them.",
  values: {
    LISTS: {
      description:
        "Lists: `User.projects`, `Project.experiments`, `.jobs`, `.buildJobs`, `.groups`, `Group.experiments`.",
    },
    EXPERIMENT_JOB_LOGS: { description: "`ExperimentJob.logs`." },
  },
});

const GatewayLimits = builder.objectRef<GatewayFacts>("GatewayLimits").implement({
  description: "Limits that requests are held to.",
  fields: (t) => ({
    maxDepth: t.exposeInt("maxDepth", { nullable: false, description: "Deepest nesting." }),
    maxUpstreamRequests: t.exposeInt("maxUpstreamRequests", {
      nullable: false,
      description: "Most upstream requests one operation may cause.",
    }),
    maxPageSize: t.exposeInt("maxPageSize", { nullable: false, description: "Largest page." }),
    maxLogBytes: t.exposeInt("maxLogBytes", { nullable: false, description: "Largest log window in bytes." }),
  }),
});

const GatewayInfo = builder.objectRef<GatewayFacts>("GatewayInfo").implement({
  description: "What this gateway is and may do. Readable without a token.",
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
        "Abilities that are switched on; fields that need another one answer null with code `CAPABILITY_UNAVAILABLE`.",
      resolve: ({ capabilities }) => capabilities,
    }),
    limits: t.field({
      type: GatewayLimits,
      nullable: false,
      description: "Limits that requests are held to.",
      resolve: (facts) => facts,
    }),
  }),
});

builder.queryField("gateway", (t) =>
  t.field({
    type: GatewayInfo,
    nullable: false,
    description: "What this gateway is and may do.",
    resolve: (_, _args, { gateway }) => gateway,
  }),
);
