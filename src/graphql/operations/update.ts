import type { Command } from "../../rest/api/endpoint.ts";
import type { Revision } from "../../rest/api/kind.ts";
import { segment } from "../../rest/api/endpoint.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { InputError } from "../../errors.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import type { ResourceRef } from "../core/fields.ts";
import { quote, withId } from "../core/ids.ts";
import { toResource } from "../core/resource.ts";
import { type AddMutation, recordPayload } from "./mutations.ts";
import { tagChanges, withTags } from "./tags.ts";
import { targetOf } from "./named-run.ts";

/** What the service accepts as a name. */
const SLUG = /^[-\w]+$/;

/** Throws `InputError` for a name that the service would not accept, or under which nothing could be found. */
export function checkNewName(name: string | null | undefined): void {
  if (name == null) return;
  if (!SLUG.test(name))
    throw new InputError(`input.name: expected letters, digits, - and _, got ${quote(name)}`);
  segment("input.name", name);
}

/** Updates a run. The service returns the whole record. Not every kind has a readme. */
export const update =
  <R extends object>(
    target: ResourceRef<R, RunAddress>,
    endpoint: Command<RunAddress, R, Revision>,
    description: string,
  ): AddMutation =>
  (mutation) => {
    const input = builder.inputType(`Update${target.kind.name}Input`, {
      description:
        "Fields to change. Omitted fields keep their values; at least one is required. A field that the server does not accept is an error with the code `CAPABILITY_UNAVAILABLE`, and nothing is changed.",
      fields: (t) => ({
        description: t.string({ description: "New description. Null removes it." }),
        name: t.string({
          description:
            "New name: letters, digits, `-` and `_`. Known servers fail if another run of the project has it. Null removes it. Requires the capability `UPDATE_NAME`.",
        }),
        tags: t.stringList({
          description:
            "New labels, which replace the old ones. Null removes them. Requires the capability `UPDATE_TAGS`.",
        }),
        ...tagChanges(t),
        ...(target.kind.run?.keys.includes("readme") && {
          readme: t.string({
            description: "New notes in Markdown. Null removes them. Requires the capability `UPDATE_README`.",
          }),
        }),
      }),
    });
    const type = recordPayload(mutation, target, "The record after the change.");
    builder.mutationField(mutation, (t) =>
      t.field({
        type,
        description,
        args: {
          ...withId(target),
          input: t.arg({ type: input, required: true, description: "Fields to change." }),
        },
        resolve: async (_, { id, input: given }, context) => {
          const { session } = context;
          checkNewName(given.name);
          const source = await targetOf(target.kind, id, context);
          const changed = await withTags(source, given, session);
          const body = bodyOf(session.server.profile.inputs.update, changed);
          if (Object.keys(body).length === 0)
            throw new InputError("input: expected at least one field to change, got none");
          const record = await session.send(endpoint, source.address, body);
          return { source, result: toResource(target.kind, source.address, record) };
        },
      }),
    );
  };
