import { InputError } from "../../errors.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import type { PothosTypes } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { fetchMore, type Resource } from "../core/resource.ts";

/* Labels that a mutation adds and removes. The service only replaces all of them. */

type FieldBuilder = PothosSchemaTypes.InputFieldBuilder<PothosTypes, "InputObject">;

/** The inputs that change single labels. */
export const tagChanges = (t: FieldBuilder) => ({
  addTags: t.stringList({
    description:
      "Labels to add to the present ones, which are read before the change: a change of the labels by somebody else in between is lost. Not with `tags`. Requires the capability `UPDATE_TAGS`.",
  }),
  removeTags: t.stringList({
    description:
      "Labels to remove from the present ones, in the same way. Those that are missing are ignored.",
  }),
});

interface TagInput {
  readonly tags?: readonly string[] | null | undefined;
  readonly addTags?: readonly string[] | null | undefined;
  readonly removeTags?: readonly string[] | null | undefined;
}

/** The input with the labels that result from a change of single ones. Reads the record only for such a change. */
export async function withTags<Given extends TagInput>(
  source: Resource<{ readonly tags?: readonly string[] | null | undefined }>,
  { addTags, removeTags, ...given }: Given,
  session: Context["session"],
): Promise<Omit<Given, "addTags" | "removeTags">> {
  if (addTags == null && removeTags == null) return given;
  if (given.tags !== undefined)
    throw new InputError("input.tags: expected `tags`, or `addTags` and `removeTags`, got both");
  const added = new Set(addTags);
  const removed = new Set(removeTags);
  for (const tag of added)
    if (removed.has(tag)) throw new InputError("input.removeTags: expected other labels than in `addTags`");
  // Throws where the server does not take labels, before anything is read.
  bodyOf(session.server.profile.inputs.update, { tags: [] });
  // What other operations have read may be older.
  session.endSharing();
  const { loaded } = await fetchMore(source, ["tags"], session);
  const present = (loaded.tags ?? []).filter((tag) => !removed.has(tag));
  return { ...given, tags: [...new Set([...present, ...added])] };
}
