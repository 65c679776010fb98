import type { InputShapeFromFields } from "@pothos/core";
import { type Command, segment } from "../../rest/api/endpoint.ts";
import type { Revision, RunKind } from "../../rest/api/kinds.ts";
import { InputError, GatewayError } from "../../errors.ts";
import { isMismatch, unusable } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { checkText } from "../../rest/api/list-query.ts";
import { builder, inputArg, type Inputs, root } from "../core/builder.ts";
import type { ResourceRef } from "../core/fields.ts";
import { quote, withId } from "../core/ids.ts";
import { type Address, fetchMore, type Resource, toResource } from "../core/resource.ts";
import { payloadOf, REPEATABLE, targetOf } from "../core/mutations.ts";
import type { Context } from "../core/context.ts";

const SLUG = /^[-\w]+$/;

/**
 * Returns a handler that throws `BAD_USER_INPUT` if the server has probably failed because the name is taken. Known servers then crash with
 * status 405. They crash in the same way after they have changed a record that they cannot return, so the error keeps its details.
 */
export const orTaken =
  (name: string | null | undefined) =>
  (error: unknown): never => {
    if (name == null || !(error instanceof GatewayError)) throw error;
    const { code, details } = error;
    if (code !== "UPSTREAM_ERROR" || details.upstream?.status !== 405) throw error;
    const message = `input.name: expected a name that is not taken, got ${quote(name)}: the server failed, as it does when the name is taken`;
    throw new GatewayError("BAD_USER_INPUT", message, details);
  };

/* Tags that a mutation adds and removes. The upstream service can only replace all tags. */

export const tagInputs = (t: Inputs) => ({
  tags: t.stringList({ description: "Tags that replace the old ones. Requires `UPDATE_TAGS`." }),
  addTags: t.stringList({
    description:
      "Tags to add. The present tags are read and written back: a change by somebody else in between is lost. Not with `tags`.",
  }),
  removeTags: t.stringList({ description: "Tags to remove, likewise. Missing ones are ignored." }),
});

type Tagged = Pick<RunnableRecord, "tags">;

type Change = InputShapeFromFields<ReturnType<typeof tagInputs>> & {
  readonly name?: string | null | undefined;
};

/** Throws `InputError` for a name that the upstream service would reject, and for a tag by which no filter could find the record. */
export function checkChange({ name: newName, tags, addTags }: Change): void {
  if (newName != null && !SLUG.test(newName))
    throw new InputError(`input.name: expected letters, digits, - and _, got ${quote(newName)}`);
  if (newName != null) segment("input.name", newName);
  for (const [name, given] of Object.entries({ tags, addTags }))
    for (const [index, tag] of (given ?? []).entries()) checkText(`input.${name}[${index}]`, tag);
}

/**
 * Replaces `addTags` and `removeTags` with `tags`, computed from the present tags of the record. Reads the record only if one of them is
 * given.
 */
async function withTags<Given extends Change>(
  source: Resource<Tagged>,
  { addTags, removeTags, ...given }: Given,
  session: Context["session"],
): Promise<Omit<Given, "addTags" | "removeTags">> {
  if (addTags == null && removeTags == null) return given;
  if (given.tags !== undefined)
    throw new InputError("input.tags: expected `tags`, or `addTags` and `removeTags`, got both");
  const added = new Set(addTags);
  const removed = new Set(removeTags);
  for (const tag of added)
    if (removed.has(tag)) throw new InputError("input.removeTags: expected tags that are not in `addTags`");
  // Called before the record is read: throws if the server does not accept tags.
  session.server.bodyOf("update", { tags: [] });
  // Shared responses of other operations may be older than the last change.
  session.endSharing();
  const { loaded } = await fetchMore(source, ["tags"], session);
  // Without the present tags, the update would remove them.
  if (loaded.tags === undefined || isMismatch(loaded, "tags")) throw unusable("tags");
  const present = (loaded.tags ?? []).filter((tag) => !removed.has(tag));
  return { ...given, tags: [...new Set([...present, ...added])] };
}

/** Sends an update of a record. `other` has further keys of the request body. Rejects with `InputError` if nothing changes. */
export async function sendUpdate<R extends Tagged, At extends Address>(
  source: Resource<R, At>,
  endpoint: Command<At, R, Revision>,
  input: Change,
  { session }: Pick<Context, "session">,
  other: Revision = {},
): Promise<R> {
  const body = { ...session.server.bodyOf("update", await withTags(source, input, session)), ...other };
  if (Object.keys(body).length === 0)
    throw new InputError("input: expected at least one field to change, got none");
  return session.send(endpoint, source.address, body).catch(orTaken(input.name));
}

const UpdateRunInput = builder.inputType("UpdateRunInput", {
  description: "Fields to change, at least one. Omitted ones stay; null clears.",
  fields: (t) => ({
    name: t.string({ description: "Name: letters, digits, `-` and `_`. Requires `UPDATE_NAME`." }),
    description: t.string({ description: "Free text." }),
    ...tagInputs(t),
    readme: t.string({ description: "Notes in Markdown. Not of build jobs. Requires `UPDATE_README`." }),
  }),
});

/** Adds the mutation that changes a run. The response has the whole record, so it is not read again. */
export function update<R extends Tagged>(
  target: ResourceRef<R, RunAddress> & { readonly kind: { readonly run: RunKind } },
  endpoint: Command<RunAddress, R, Revision> | undefined,
): void {
  if (!endpoint) return;
  const { name, one, many, keys } = target.kind.run;
  root.mutation(`update${name}`, {
    type: payloadOf(target),
    description: `Changes ${one}. ${REPEATABLE}`,
    args: { ...withId(target), ...inputArg(UpdateRunInput, "Fields to change.") },
    resolve: async (_, { id, input }, context) => {
      checkChange(input);
      if (input.readme !== undefined && !keys.includes("readme"))
        throw new InputError(`input.readme: expected none, because ${many} have no readme`);
      const source = await targetOf(target.kind, id, context);
      return toResource(target.kind, source.address, await sendUpdate(source, endpoint, input, context));
    },
  });
}
