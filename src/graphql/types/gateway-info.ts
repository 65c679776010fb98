import { ERROR_CODES, isErrorCode } from "../../errors.ts";
import { CAPABILITIES } from "../../rest/api/endpoint.ts";
import { computedFrom, enumType, objectType, root, exposed, exposedOrNull } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { GatewayDetails } from "../core/context.ts";
import { ErrorCode } from "./command-outcome.ts";

const Capability = enumType(
  "Capability",
  "A feature that some servers have in addition to the documented API.",
  CAPABILITIES,
);

const GatewayLimits = objectType<GatewayDetails>("GatewayLimits", "Limits of an operation.", (t) => ({
  maxPageSize: t.int(exposed("maxPageSize", "Largest `first`.")),
  maxRootFields: t.int(exposed("maxRootFields", "Maximum number of root fields of a mutation.")),
  maxIds: t.field(computedFrom("Int", "Largest number of `ids`, and of `records`.", () => MAX_IDS)),
  maxScannedRows: t.int(exposed("maxScannedRows", "Maximum number of rows that a scan reads.")),
  maxLogBytes: t.int(exposed("maxLogBytes", "Largest `maxBytes`.")),
}));

const GatewayInfo = objectType<GatewayDetails>("GatewayInfo", "The gateway. Requires no token.", (t) => ({
  version: t.string(exposed("version", "Version of the gateway.")),
  upstreamApiVersion: t.string(exposed("upstreamApiVersion", "Version of the upstream API, such as `v1`.")),
  timeZone: t.string(
    exposedOrNull(
      "timeZone",
      "Time zone of the service, in which the days of filters begin, such as `Europe/Berlin`; null if the server's profile does not name it.",
    ),
  ),
  capabilities: t.field({
    type: [Capability],
    nullable: false,
    description: "Features of the server. Fields that require more are null with `CAPABILITY_UNAVAILABLE`.",
    resolve: ({ capabilities }) => capabilities,
  }),
  errorCodes: t.field(
    computedFrom(
      [ErrorCode],
      "Every `extensions.code` that this gateway can send. The descriptions of the enum explain the meaning of each, and what to do.",
      () => Object.keys(ERROR_CODES).filter(isErrorCode),
    ),
  ),
  limits: t.field(computedFrom(GatewayLimits, "Limits of an operation.", (details) => details)),
}));

root.query("gateway", {
  type: GatewayInfo,
  nullable: false,
  description: "The gateway. Requires no token.",
  resolve: (_, _args, { gateway }) => gateway,
});
