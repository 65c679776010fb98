import { capital, uncapital } from "../../rest/api/kind.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { lookUp } from "../core/ids.ts";
import { metricsUrl, runsUrl } from "./exports.ts";
import { runList, runLists } from "./run-list.ts";
import { Entity, Project, User } from "../core/refs.ts";
import { plural } from "../core/kinds.ts";

const { property, fromAddress } = fieldsOf(Project.kind);

/** Source: release 0.4 of the server; the service's document has no record of projects. */
Project.implement({
  description:
    "A project, which contains runs. Its names, owner, URLs and lists follow from its address; other fields are those of its record and require `PROJECT_RECORDS`.",
  interfaces: [Entity],
  fields: (t) => ({
    uniqueName: t.string({
      nullable: false,
      description: "Owner and name: `ada.mnist`.",
      ...fromAddress(({ kind, address }) => kind.formatName(address)),
    }),
    name: t.string({
      nullable: false,
      description: "Name.",
      ...fromAddress(({ address }) => address.project),
    }),
    owner: t.field({
      type: User,
      nullable: false,
      description: "Owner.",
      ...fromAddress(({ address }) => toResource(User.kind, { username: address.owner })),
    }),
    description: t.string({ description: "Free text.", ...property("description") }),
    readme: t.string({ description: "Notes in Markdown.", ...property("readme") }),
    tags: t.stringList({ description: "Tags.", ...property("tags") }),
    isPublic: t.boolean({ description: "Whether every user can see it.", ...property("is_public") }),
    isBookmarked: t.boolean({ description: "Whether the caller bookmarked it.", ...property("bookmarked") }),
    isArchived: t.boolean({
      description: "Whether it is archived; null where the service does not say.",
      ...fromAddress(({ loaded }) => loaded.deleted ?? null),
    }),
    createdAt: t.field({ type: "DateTime", description: "Creation.", ...property("created_at") }),
    updatedAt: t.field({
      type: "DateTime",
      description: "Last change of the project itself.",
      ...property("updated_at"),
    }),
    experimentCount: t.int({ description: "Experiments, grouped or not.", ...property("num_experiments") }),
    groupCount: t.int({ description: "Groups.", ...property("num_experiment_groups") }),
    jobCount: t.int({ description: "Jobs.", ...property("num_jobs") }),
    buildJobCount: t.int({ description: "Build jobs.", ...property("num_builds") }),
    runsUrl: t.string(runsUrl),
    metricsUrl: t.string(metricsUrl),
  }),
});

for (const list of runLists) {
  const { name, many } = list.target.kind.run;
  const field = runList(list, `${capital(many)} of the project.`);
  builder.objectField(Project, uncapital(plural(name)), (t) => t.field(field));
}

builder.queryField("project", (t) =>
  t.field(lookUp(Project, "A project by its id. Checked to exist only where its record is read.")),
);
