import { fieldsOf } from "../core/fields.ts";
import { Node } from "../core/refs.ts";
import { downloadUrl } from "./logs.ts";

/*
 * Fields that several kinds of runs and experiment jobs have, but not all: `resources: t.field(resources)`.
 */

type Text = string | null | undefined;

const { fromAddress, property, reference } = fieldsOf<{
  readonly resources?: unknown;
  readonly node_scheduled?: Text;
  readonly pod_id?: Text;
  readonly backend?: Text;
  readonly data_refs?: unknown;
  readonly readme?: Text;
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

export const podId = {
  description: "Name of the pod in the cluster. Null if the server does not report it.",
  ...property("pod_id"),
};

export const backend = {
  description: "What schedules the run, such as `native`. Null if the server does not report it.",
  ...property("backend"),
};

export const dataReferences = {
  type: "JSON" as const,
  description:
    "Versions of the data that the run reads, by name. The service does not document the shape. Null if the server does not report them.",
  ...property("data_refs"),
};

export const readme = {
  description:
    "Notes in Markdown. The update mutation changes them. Null if there are none, or if the server has none for its records.",
  ...property("readme"),
};

export const outputsUrl = {
  nullable: false as const,
  description:
    "URL at this gateway that streams the output files. Requires the same `Authorization` header as GraphQL. Costs no upstream request.",
  ...fromAddress((resource, _, context) => downloadUrl(resource, "outputs", context)),
};
