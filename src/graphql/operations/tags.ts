import { InputError } from "../../errors.ts";
import { checkText } from "../../rest/api/filter-language.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import type { PothosTypes } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { fetchMore, type Resource } from "../core/resource.ts";

/* Tags that a mutation adds and removes. The service only replaces all of them. */

type FieldBuilder = PothosSchemaTypes.InputFieldBuilder<PothosTypes, "InputObject">;

/** The inputs that change tags. */
export const tagInputs = (t: FieldBuilder) => ({
  tags: t.stringList({ description: "New tags in place of the old ones. Requires `UPDATE_TAGS`." }),
  addTags: t.stringList({
    description:
      "Tags to add. The current ones are read first: a change in between is lost. Not with `tags`.",
  }),
  removeTags: t.stringList({ description: "Tags to remove, in the same way. Missing ones are ignored." }),
});

interface TagInput {
  readonly tags?: readonly string[] | null | undefined;
  readonly addTags?: readonly string[] | null | undefined;
  readonly removeTags?: readonly string[] | null | undefined;
}

/** Throws `InputError` for tags by which no list could be filtered. */
export function checkTags({ tags, addTags }: TagInput): void {
  for (const [name, given] of Object.entries({ tags, addTags }))
    for (const [index, tag] of (given ?? []).entries()) checkText(`input.${name}[${index}]`, tag);
}

/** The input with the tags that result from a change of single ones. Reads the record only for such a change. */
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
    if (removed.has(tag)) throw new InputError("input.removeTags: expected other tags than in `addTags`");
  // Throws where the server does not take tags, before anything is read.
  bodyOf("update", session.server.profile.inputs.update, { tags: [] });
  // What other operations have read may be older.
  session.endSharing();
  const { loaded } = await fetchMore(source, ["tags"], session);
  const present = (loaded.tags ?? []).filter((tag) => !removed.has(tag));
  return { ...given, tags: [...new Set([...present, ...added])] };
}
