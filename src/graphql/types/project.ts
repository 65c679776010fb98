import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import { capital, project, uncapital } from "../../rest/api/kinds.ts";
import { builder, inputArg, root } from "../core/builder.ts";
import { fieldsOf, withKeys } from "../core/fields.ts";
import { resolveReference, toResource } from "../core/resource.ts";
import { resolveId, lookUp, requires, withId } from "../core/ids.ts";
import { Project, resourceType, User } from "../core/refs.ts";
import { plural } from "../core/kinds.ts";
import {
  archiveArg,
  ARCHIVES,
  bookmarkArg,
  DeletePayload,
  hidden,
  ifUuidArg,
  payloadOf,
  readBefore,
  requireUuid,
  sendFor,
} from "../core/mutations.ts";
import { experimentsUrl, metricsUrl } from "./export-urls.ts";
import { runList, runLists } from "./run-list.ts";
import { checkChange, sendUpdate, tagInputs } from "./update.ts";

const { property, time, fromAddress } = fieldsOf(Project.kind);

/** The service's document does not describe projects. Source: release 0.4 of the server. */
resourceType(
  Project,
  "A project, which contains runs. Name, owner, URLs and lists follow from the id and cost no request for the project; all other fields are read, and require `PROJECT_RECORDS`.",
  (t) => ({
    uuid: t.string(property("uuid", "Identifier in the service, which a rename does not change.")),
    uniqueName: t.string(
      fromAddress("Owner and name: `ada.mnist`.", ({ kind, address }) => kind.formatName(address)),
    ),
    reference: t.string(
      fromAddress("Unique name. Every argument `id` accepts it: `ada.mnist`.", ({ kind, address }) =>
        kind.formatReference(address),
      ),
    ),
    name: t.string(fromAddress("Name.", ({ address }) => address.project)),
    owner: t.field({
      type: User,
      ...fromAddress("Owner.", ({ address }) => toResource(User.kind, { username: address.owner })),
    }),
    readme: t.string(property("readme", "Notes in Markdown.")),
    tags: t.stringList(property("tags", "Tags.")),
    isPublic: t.boolean(property("is_public", "Whether every user can see it.")),
    createdAt: t.field(time("created_at", "Creation.")),
    updatedAt: t.field(time("updated_at", "Last change of the project itself.")),
    experimentCount: t.int(property("num_experiments", "Experiments, grouped or not.")),
    groupCount: t.int(property("num_experiment_groups", "Groups.")),
    jobCount: t.int(property("num_jobs", "Jobs.")),
    buildJobCount: t.int(property("num_builds", "Build jobs.")),
    experimentsUrl: t.string(experimentsUrl),
    metricsUrl: t.string(metricsUrl),
  }),
);

for (const { target } of runLists.values()) {
  const { name, many } = target.kind.run;
  const field = runList(target, `${capital(many)} of the project.`);
  builder.objectField(Project, uncapital(plural(name)), (t) => t.field(field));
}

root.query(
  "project",
  lookUp(
    Project,
    "A project by its id. Fields that follow from the id cost no request and are not checked. If the project does not exist, it is null with `NOT_FOUND` if a field of its record is selected. If only lists are selected, each of them is null with `NOT_FOUND`.",
  ),
);

/* Mutations of projects, which the service's document does not describe. Source: release 0.4.4 of the server. */

const { bookmark, unbookmark, archive, restore, update, create, delete: discard } = project.optional;

const CreateProjectInput = builder.inputType("CreateProjectInput", {
  description: "A new project. Omitted and null values are left to the service.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name: letters, digits, `-` and `_`." }),
    description: t.string({ description: "Free text." }),
    tags: t.stringList({ description: "Tags." }),
    isPublic: t.boolean({ description: "Whether every user can see it." }),
  }),
});

const UpdateProjectInput = builder.inputType("UpdateProjectInput", {
  description: "Fields to change, at least one. Omitted ones stay; null clears a string or the tags.",
  fields: (t) => ({
    name: t.string({
      description:
        "Name. A new name changes the ids and unique names of the project and its runs. Requires `UPDATE_NAME`.",
    }),
    description: t.string({ description: "Free text." }),
    readme: t.string({ description: "Notes in Markdown. Requires `UPDATE_README`." }),
    ...tagInputs(t),
    isPublic: t.boolean({ description: "Whether every user can see it." }),
  }),
});

const visibility = (isPublic: boolean | null | undefined) =>
  isPublic == null ? {} : { is_public: isPublic };

root.mutation("createProject", {
  type: payloadOf(Project),
  description: `Creates a project of the caller.${requires(create)}`,
  args: inputArg(CreateProjectInput, "The project."),
  resolve: async (_, { input }, { session }) => {
    checkChange(input);
    const { isPublic, ...values } = input;
    const given = Object.entries(values).filter(([, value]) => value !== null);
    const body = { ...Object.fromEntries(given), ...visibility(isPublic) };
    const record = await session.send(create, {}, body);
    const { address } = resolveReference(Project.kind, record.unique_name);
    return toResource(Project.kind, address, record);
  },
});

root.mutation("updateProject", {
  type: payloadOf(Project),
  description: `Changes a project.${requires(update)}`,
  args: { ...withId(Project), ...inputArg(UpdateProjectInput, "Fields to change.") },
  resolve: async (_, { id, input: { isPublic, ...input } }, context) => {
    const source = resolveId(Project.kind, "id", id);
    for (const [name, value] of Object.entries({ name: input.name, isPublic }))
      if (value === null) throw new InputError(`input.${name}: expected a value, got null`);
    checkChange(input);
    const record = await sendUpdate(source, update, input, context, visibility(isPublic));
    return toResource(Project.kind, { ...source.address, project: record.name }, record);
  },
});

root.mutation("deleteProject", {
  type: DeletePayload,
  description: `Deletes a project and everything in it.${requires(discard)}`,
  args: { ...withId(Project), ...ifUuidArg },
  resolve: async (_, { id, ifUuid }, context) => {
    const { session } = context;
    const source = resolveId(Project.kind, "id", id);
    session.server.supported(discard);
    if (ifUuid != null) await requireUuid(source, ifUuid, context);
    await session.send(discard, source.address, undefined);
    return source;
  },
});

root.mutation("bookmarkProject", {
  type: payloadOf(Project),
  description: `Bookmarks a project for the caller.${requires(bookmark)}`,
  args: { ...withId(Project), ...bookmarkArg },
  resolve: async (_, { id, isBookmarked }, context) => {
    const source = resolveId(Project.kind, "id", id);
    await sendFor(source, isBookmarked ? bookmark : unbookmark, context);
    return source;
  },
});

const archiveArgs = { ...withId(Project), ...archiveArg, ...ifUuidArg };

root.mutation("archiveProject", {
  type: payloadOf(Project),
  description: `Archives a project. ${ARCHIVES}${requires(archive)}`,
  args: archiveArgs,
  ...withKeys(
    async ({ id, isArchived, ifUuid }: InputShapeFromFields<typeof archiveArgs>, context, keysOf) => {
      const { session } = context;
      const source = resolveId(Project.kind, "id", id);
      const endpoint = isArchived ? archive : restore;
      session.server.supported(endpoint);
      if (ifUuid != null && !isArchived)
        throw new InputError("ifUuid: expected none when restoring, because archived records cannot be read");
      if (ifUuid != null) await requireUuid(source, ifUuid, context);
      const now = isArchived ? await readBefore(source, keysOf("project"), context) : source;
      await session.send(endpoint, source.address, undefined);
      return hidden(now, { deleted: isArchived });
    },
  ),
});
