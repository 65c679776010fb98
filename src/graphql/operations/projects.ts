import { InputError } from "../../errors.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { project } from "../../rest/api/project.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { builder } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { identify, requires, withId } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { Project } from "../core/refs.ts";
import { resolveReference, toResource } from "../core/resource.ts";
import { command, DeletePayload, payloadOf } from "./mutations.ts";
import { checkTags, tagInputs, withTags } from "./tags.ts";
import { checkNewName } from "./update.ts";

/*
 * Mutations of projects, which the service's document does not describe. Source: release 0.4.4 of the server.
 */

const { bookmark, unbookmark, archive, restore, update, create, delete: discard } = project.optional;

const CreateProjectInput = builder.inputType("CreateProjectInput", {
  description: "A new project. What is omitted or null is left to the service.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name: letters, digits, `-` and `_`." }),
    description: t.string({ description: "Free text." }),
    tags: t.stringList({ description: "Tags." }),
    isPublic: t.boolean({ description: "Whether every user can see it." }),
  }),
});

const UpdateProjectInput = builder.inputType("UpdateProjectInput", {
  description: "Fields to change, at least one. Omitted ones stay; null clears a text or the tags.",
  fields: (t) => ({
    name: t.string({
      description:
        "Name. A new one changes the ids and unique names of the project and of all that is in it. Requires `UPDATE_NAME`.",
    }),
    description: t.string({ description: "Free text." }),
    readme: t.string({ description: "Notes in Markdown. Requires `UPDATE_README`." }),
    ...tagInputs(t),
    isPublic: t.boolean({ description: "Whether every user can see it." }),
  }),
});

const visibility = (isPublic: boolean | null | undefined) =>
  isPublic == null ? {} : { is_public: isPublic };

builder.mutationFields((t) => ({
  createProject: t.field({
    type: payloadOf(Project),
    description: `Creates a project of the caller.${requires(create)}`,
    args: { input: t.arg({ type: CreateProjectInput, required: true, description: "The project." }) },
    resolve: async (_, { input }, { session }) => {
      checkNewName(input.name);
      checkTags(input);
      const { isPublic, ...values } = input;
      const given = Object.entries(values).filter(([, value]) => value !== null);
      const body = { ...Object.fromEntries(given), ...visibility(isPublic) };
      const record = await session.send(create, {}, body);
      const { address } = resolveReference(Project.kind, record.unique_name ?? "");
      return toResource(Project.kind, address, record);
    },
  }),
  updateProject: t.field({
    type: payloadOf(Project),
    description: `Changes a project.${requires(update)}`,
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
      checkTags(input);
      const { isPublic, ...values } = await withTags(source, input, session);
      const body = {
        ...bodyOf("update", session.server.profile.inputs.update, values),
        ...visibility(isPublic),
      };
      if (Object.keys(body).length === 0)
        throw new InputError("input: expected at least one field to change, got none");
      const record = await session.send(update, source.address, body);
      return toResource(Project.kind, { ...source.address, project: record.name }, record);
    },
  }),
}));

command("deleteProject", discard, {
  target: Project,
  type: DeletePayload,
  description: "Deletes a project and everything in it.",
});

export const ARCHIVES =
  "hiding it from lists; `isArchived: false` restores it. The server may stop what is archived, and delete it after some days.";
export const BOOKMARK_SWITCH = "Set to false to remove the bookmark.";
export const ARCHIVE_SWITCH = "Set to false to restore.";

/** Sends a command for a project. */
async function act(id: string, endpoint: Command<ProjectAddress, undefined>, { session }: Context) {
  const { address } = identify(Project.kind, "id", id);
  await session.send(endpoint, address, undefined);
  return address;
}

builder.mutationFields((t) => ({
  bookmarkProject: t.field({
    type: payloadOf(Project),
    description: `Bookmarks a project for the caller.${requires(bookmark)}`,
    args: {
      ...withId(Project),
      isBookmarked: t.arg.boolean({ required: true, defaultValue: true, description: BOOKMARK_SWITCH }),
    },
    resolve: async (_, { id, isBookmarked }, context) =>
      toResource(Project.kind, await act(id, isBookmarked ? bookmark : unbookmark, context)),
  }),
  archiveProject: t.field({
    type: payloadOf(Project),
    description: `Archives a project, ${ARCHIVES}${requires(archive)}`,
    args: {
      ...withId(Project),
      isArchived: t.arg.boolean({ required: true, defaultValue: true, description: ARCHIVE_SWITCH }),
    },
    resolve: async (_, { id, isArchived }, context) => {
      const address = await act(id, isArchived ? archive : restore, context);
      return toResource(Project.kind, address, { deleted: isArchived });
    },
  }),
}));
