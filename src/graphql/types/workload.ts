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
  readonly data_refs?: unknown;
  readonly readme?: Text;
}>();

export const resources = {
  type: "JSON" as const,
  description: "Requested resources.",
  ...property("resources"),
};

export const nodeScheduled = {
  description: "Machine on which it was scheduled.",
  ...reference("node_scheduled", Node),
};

export const dataReferences = {
  type: "JSON" as const,
  description: "Versions of the data that it reads, by name.",
  ...property("data_refs"),
};

export const readme = {
  description: "Notes in Markdown.",
  ...property("readme"),
};

export const outputsUrl = {
  nullable: false as const,
  description: "URL of the output files as an archive, with the `Authorization` header of GraphQL.",
  ...fromAddress((resource, _, context) => downloadUrl(resource, "outputs", context)),
};
