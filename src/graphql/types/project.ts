import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { checked } from "../core/ids.ts";
import { BUILD_JOBS, EXPERIMENTS, GROUPS, JOBS, runList } from "./run-list.ts";
import { memberOf } from "../core/look-up.ts";
import { BuildJob, Entity, Experiment, Group, Job, Project, User } from "../core/refs.ts";

const { fromAddress } = fieldsOf(Project.kind);

Project.implement({
  description:
    "A project, which contains runs. The service has no endpoint for a project: this object is derived from the address, and whether the project exists is not checked.",
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
    experiment: t.field(memberOf(Experiment, "An experiment of the project.")),
    job: t.field(memberOf(Job, "A job of the project.")),
    buildJob: t.field(memberOf(BuildJob, "A build job of the project.")),
    group: t.field(memberOf(Group, "A group of the project.")),
    experiments: t.field(runList(EXPERIMENTS, "Experiments of the project.")),
    jobs: t.field(runList(JOBS, "Jobs of the project.")),
    buildJobs: t.field(runList(BUILD_JOBS, "Build jobs of the project.")),
    groups: t.field(runList(GROUPS, "Groups of the project.")),
  }),
});

builder.queryField("project", (t) =>
  t.field({
    type: Project,
    description:
      "A project by owner and name. Whether it exists is not checked: the service has no endpoint for it.",
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
