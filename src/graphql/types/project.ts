import { UpstreamError } from "../../errors.ts";
import { capital, uncapital } from "../../rest/api/kind.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { fetchMore, isLoaded, toResource } from "../core/resource.ts";
import { checked, memberOf } from "../core/ids.ts";
import { orError } from "../operations/each.ts";
import { metricsUrl, runsUrl } from "./exports.ts";
import { runList, runLists } from "./run-list.ts";
import { Entity, Project, runRefs, User } from "../core/refs.ts";
import { plural } from "../core/kinds.ts";

const { child, property, fromAddress } = fieldsOf(Project.kind);

/** Source: release 0.4 of the server; the service's document has no record of projects. */
Project.implement({
  description:
    "A project, which contains runs. Name, owner and runs follow from its address. The other fields require the capability `PROJECT_RECORDS`: reading them costs one upstream request for each project, and the project is null with an error if it does not exist. Without them its existence is not checked.",
  interfaces: [Entity],
  fields: (t) => ({
    uniqueName: t.string({
      nullable: false,
      description: "`<owner>.<project>`.",
      ...fromAddress(({ kind, address }) => kind.formatName(address)),
    }),
    name: t.string({
      nullable: false,
      description: "Name of the project.",
      ...fromAddress(({ address }) => address.project),
    }),
    owner: t.field({
      type: User,
      nullable: false,
      description: "Owner of the project.",
      ...fromAddress(({ address }) => toResource(User.kind, { username: address.owner })),
    }),
    exists: t.boolean({
      description:
        "Whether the project exists. Null with the code `FORBIDDEN` where the service says that the caller may not see it. Costs the read of its record, and requires the capability `PROJECT_RECORDS`. A field of the record beside it makes the project null instead.",
      ...child(async (project, _: object, { session, server }) => {
        if (isLoaded(project, ["created_at"], server)) return true;
        const found = await orError(fetchMore(project, ["created_at"], session));
        if (!(found instanceof UpstreamError)) return true;
        if (found.code === "NOT_FOUND") return false;
        throw found;
      }),
    }),
    description: t.string({
      description: "Free text. Items of `User.projects` have it.",
      ...property("description"),
    }),
    readme: t.string({
      description: "Notes in Markdown. Null if there are none, or if the server has none for projects.",
      ...property("readme"),
    }),
    tags: t.stringList({ description: "Labels. Items of `User.projects` have them.", ...property("tags") }),
    isPublic: t.boolean({
      description: "Whether every user can see the project. Items of `User.projects` have it.",
      ...property("is_public"),
    }),
    bookmarked: t.boolean({
      description: "Whether the caller bookmarked the project. Items of `User.projects` have it.",
      ...property("bookmarked"),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "Time of creation. Items of `User.projects` have it.",
      ...property("created_at"),
    }),
    updatedAt: t.field({
      type: "DateTime",
      description: "Time of the last change of the project itself. Items of `User.projects` have it.",
      ...property("updated_at"),
    }),
    hasCode: t.boolean({ description: "Whether code was uploaded.", ...property("has_code") }),
    hasTensorboard: t.boolean({
      description: "Whether a TensorBoard of the project is running.",
      ...property("has_tensorboard"),
    }),
    hasNotebook: t.boolean({
      description: "Whether a notebook of the project is running.",
      ...property("has_notebook"),
    }),
    experimentCount: t.int({
      description: "Number of experiments, those of groups included.",
      ...property("num_experiments"),
    }),
    independentExperimentCount: t.int({
      description: "Number of experiments that belong to no group.",
      ...property("num_independent_experiments"),
    }),
    groupCount: t.int({ description: "Number of groups.", ...property("num_experiment_groups") }),
    jobCount: t.int({ description: "Number of jobs.", ...property("num_jobs") }),
    buildJobCount: t.int({ description: "Number of build jobs.", ...property("num_builds") }),
    runsUrl: t.string(runsUrl),
    metricsUrl: t.string(metricsUrl),
  }),
});

for (const ref of runRefs) {
  const { name, one } = ref.kind.run;
  const field = memberOf(ref, `${capital(one)} of the project.`);
  builder.objectField(Project, uncapital(name), (t) => t.field(field));
}
for (const list of runLists) {
  const { name, many } = list.target.kind.run;
  const field = runList(list, `${capital(many)} of the project.`);
  builder.objectField(Project, uncapital(plural(name)), (t) => t.field(field));
}

builder.queryField("project", (t) =>
  t.field({
    type: Project,
    description:
      "A project by owner and name. Its record is read only when a field of it is selected; otherwise whether the project exists is not checked.",
    args: {
      owner: t.arg.string({ required: true, description: "Login name of the owner." }),
      name: t.arg.string({ required: true, description: "Name of the project." }),
    },
    resolve: (_, { owner, name }, { session }) => {
      session.requireToken();
      checked("owner", { owner });
      checked("name", { name });
      return toResource(Project.kind, { owner, project: name });
    },
  }),
);
