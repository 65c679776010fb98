import { InputError } from "../../errors.ts";
import { project, type ProjectRecord } from "../../rest/api/project.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { builder } from "../core/builder.ts";
import { identify, idOf, requires, withId } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { Project } from "../core/refs.ts";
import { resolveReference, toResource } from "../core/resource.ts";
import {
  act,
  type AddMutation,
  command,
  type CommandResult,
  mutations,
  payloadOf,
  payloadTitle,
} from "./mutations.ts";
import { tagChanges, withTags } from "./tags.ts";
import { checkNewName } from "./update.ts";

/*
 * Mutations of projects, which the service's document does not describe. Source: release 0.4.4 of the server.
 */

const { bookmark, unbookmark, archive, restore, update, create, delete: discard } = project.optional;

type Result = CommandResult<ProjectRecord, ProjectAddress>;

const CreateProjectInput = builder.inputType("CreateProjectInput", {
  description: "A new project. Fields that are omitted or null are left to the service.",
  fields: (t) => ({
    name: t.string({
      required: true,
      description:
        "Name: letters, digits, `-` and `_`. The caller must not have another project of this name.",
    }),
    description: t.string({ description: "Free text." }),
    tags: t.stringList({ description: "Labels." }),
    isPublic: t.boolean({ description: "Whether every user can see the project." }),
  }),
});

const UpdateProjectInput = builder.inputType("UpdateProjectInput", {
  description:
    "Fields to change. Omitted fields keep their values; at least one is required. A field that the server does not accept is an error with the code `CAPABILITY_UNAVAILABLE`, and nothing is changed.",
  fields: (t) => ({
    name: t.string({
      description:
        "New name: letters, digits, `-` and `_`. Not null. It changes the global ids and the unique names of the project and of everything in it: the old ones are not found any more. Requires the capability `UPDATE_NAME`.",
    }),
    description: t.string({ description: "New description. Null removes it." }),
    readme: t.string({
      description: "New notes in Markdown. Null removes them. Requires the capability `UPDATE_README`.",
    }),
    tags: t.stringList({
      description:
        "New labels, which replace the old ones. Null removes them. Requires the capability `UPDATE_TAGS`.",
    }),
    ...tagChanges(t),
    isPublic: t.boolean({ description: "Whether every user can see the project. Not null." }),
  }),
});

const visibility = (isPublic: boolean | null | undefined) =>
  isPublic == null ? {} : { is_public: isPublic };

/** Creates a project of the caller. */
const createProject: AddMutation = (mutation) => {
  const type = payloadOf<Pick<Result, "result">>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      project: t.field({
        type: Project,
        description: "The new project.",
        resolve: ({ result }) => result,
      }),
    }),
  });
  builder.mutationField(mutation, (t) =>
    t.field({
      type,
      description: `Creates a project, which belongs to the caller.${requires(create)}`,
      args: { input: t.arg({ type: CreateProjectInput, required: true, description: "The project." }) },
      resolve: async (_, { input }, { session }) => {
        checkNewName(input.name);
        const { isPublic, ...values } = input;
        const given = Object.entries(values).filter(([, value]) => value !== null);
        const body = { ...Object.fromEntries(given), ...visibility(isPublic) };
        const record = await session.send(create, {}, body);
        const { address } = resolveReference(Project.kind, record.unique_name ?? "");
        return { result: toResource(Project.kind, address, record) };
      },
    }),
  );
};

/** Changes a project. The service returns the whole record. */
const updateProject: AddMutation = (mutation) => {
  const type = payloadOf<Result>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      project: t.field({
        type: Project,
        description: "The project after the change, with its new id if it was renamed.",
        resolve: ({ result }) => result,
      }),
      previousId: t.id({
        nullable: false,
        description:
          "Global id before the change. If it is not that of `project`, the project was renamed: ids of it and of what is in it that a client keeps are void.",
        resolve: ({ source }) => idOf(source),
      }),
    }),
  });
  builder.mutationField(mutation, (t) =>
    t.field({
      type,
      description: `Changes a project, also its name.${requires(update)}`,
      args: {
        ...withId(Project),
        input: t.arg({ type: UpdateProjectInput, required: true, description: "Fields to change." }),
      },
      resolve: async (_, { id, input }, { session }) => {
        const source = identify(Project.kind, "id", id);
        for (const name of ["name", "isPublic"] as const) {
          if (input[name] === null) throw new InputError(`input.${name}: expected a value, got null`);
        }
        checkNewName(input.name);
        const { isPublic, ...values } = await withTags(source, input, session);
        const body = { ...bodyOf(session.server.profile.inputs.update, values), ...visibility(isPublic) };
        if (Object.keys(body).length === 0)
          throw new InputError("input: expected at least one field to change, got none");
        const record = await session.send(update, source.address, body);
        const address = { ...source.address, project: record.name };
        return { source, result: toResource(Project.kind, address, record) };
      },
    }),
  );
};

const deleteProject = command(Project, discard, "Deletes a project and everything in it.", (mutation) =>
  payloadOf<Result>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      deletedId: t.id({
        nullable: false,
        description: "Global id of the deleted project.",
        resolve: ({ source }) => idOf(source),
      }),
    }),
  }),
);

mutations({
  createProject,
  updateProject,
  deleteProject,
  bookmarkProject: act(
    Project,
    bookmark,
    "Bookmarks a project for the caller, who needs no right to change it.",
  ),
  unbookmarkProject: act(Project, unbookmark, "Removes the caller's bookmark from a project."),
  archiveProject: act(
    Project,
    archive,
    "Archives a project: lists leave it out until it is restored. The server can stop what runs in it, and delete it for good after some days.",
  ),
  restoreProject: act(Project, restore, "Restores a project from the archive."),
});
