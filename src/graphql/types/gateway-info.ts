import { CAPABILITIES } from "../../rest/api/endpoint.ts";
import { mapped } from "../../rest/api/record.ts";
import { builder } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { GatewayFacts } from "../core/context.ts";
import { shown } from "../core/fields.ts";

const Capability = builder.enumType("Capability", {
  description: "What some servers have in addition to the documented API.",
  values: mapped(CAPABILITIES, (description) => ({ description })),
});

const GatewayLimits = builder.objectRef<GatewayFacts>("GatewayLimits").implement({
  description: "Limits of an operation.",
  fields: (t) => ({
    maxPageSize: t.int(shown("maxPageSize", "Largest `first`.")),
    maxRootFields: t.int(shown("maxRootFields", "Maximum number of root fields of a mutation.")),
    maxIds: t.int({ nullable: false, description: "Largest number of `ids`.", resolve: () => MAX_IDS }),
    maxScannedRows: t.int(shown("maxScannedRows", "Maximum number of rows that a scan reads.")),
    maxLogBytes: t.int(shown("maxLogBytes", "Largest `maxBytes`.")),
  }),
});

const GatewayInfo = builder.objectRef<GatewayFacts>("GatewayInfo").implement({
  description: "The gateway. Requires no token.",
  fields: (t) => ({
    version: t.string(shown("version", "Version of the gateway.")),
    upstreamApiVersion: t.string(shown("upstreamApiVersion", "Version of the upstream API, such as `v1`.")),
    capabilities: t.field({
      type: [Capability],
      nullable: false,
      description: "What the server offers. Fields that require more are null with `CAPABILITY_UNAVAILABLE`.",
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
    description: "The gateway. Requires no token.",
    resolve: (_, _args, { gateway }) => gateway,
  }),
);
