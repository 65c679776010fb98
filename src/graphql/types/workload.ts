import { fieldsOf } from "../core/fields.ts";
import { Node } from "../core/refs.ts";
import { downloadUrl } from "./logs.ts";

/*
 * Fields of what runs on the cluster: `resources: t.field(resources)`.
 */

const { fromAddress, property, reference } = fieldsOf<{
  readonly resources?: unknown;
  readonly node_scheduled?: string | null | undefined;
}>();

export const resources = {
  type: "JSON" as const,
  description: "Requested resources. The service does not document the shape.",
  ...property("resources"),
};

export const nodeScheduled = {
  description: "Machine that the run was scheduled on.",
  ...reference("node_scheduled", Node),
};

export const outputsUrl = {
  nullable: false as const,
  description:
    "URL at this gateway that streams the output files. Requires the same `Authorization` header as GraphQL. Costs no upstream request.",
  ...fromAddress((resource, _, context) => downloadUrl(resource, "outputs", context)),
};
