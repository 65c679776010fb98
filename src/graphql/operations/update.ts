import type { Command } from "../../rest/api/endpoint.ts";
import type { Revision, RunKind } from "../../rest/api/kind.ts";
import { segment } from "../../rest/api/endpoint.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { InputError } from "../../errors.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import type { ResourceRef } from "../core/fields.ts";
import { quote, withId } from "../core/ids.ts";
import { toResource } from "../core/resource.ts";
import { payloadOf, targetOf } from "./mutations.ts";
import { checkTags, tagInputs, withTags } from "./tags.ts";

/** What the service accepts as a name. */
const SLUG = /^[-\w]+$/;

/** Throws `InputError` for a name that the service would not accept, or under which nothing could be found. */
export function checkNewName(name: string | null | undefined): void {
  if (name == null) return;
  if (!SLUG.test(name))
    throw new InputError(`input.name: expected letters, digits, - and _, got ${quote(name)}`);
  segment("input.name", name);
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

/** Adds the mutation that changes a run. The service returns the whole record. */
export function update<R extends object>(
  target: ResourceRef<R, RunAddress> & { readonly kind: { readonly run: RunKind } },
  endpoint: Command<RunAddress, R, Revision> | undefined,
): void {
  if (!endpoint) return;
  const { name, one, many, keys } = target.kind.run;
  builder.mutationField(`update${name}`, (t) =>
    t.field({
      type: payloadOf(target),
      description: `Changes ${one}.`,
      args: {
        ...withId(target),
        input: t.arg({ type: UpdateRunInput, required: true, description: "Fields to change." }),
      },
      resolve: async (_, { id, input }, context) => {
        const { session } = context;
        checkNewName(input.name);
        checkTags(input);
        if (input.readme !== undefined && !keys.includes("readme"))
          throw new InputError(`input.readme: expected none, because ${many} have no readme`);
        const source = await targetOf(target.kind, id, context);
        const changed = await withTags(source, input, session);
        const body = bodyOf("update", session.server.profile.inputs.update, changed);
        if (Object.keys(body).length === 0)
          throw new InputError("input: expected at least one field to change, got none");
        return toResource(target.kind, source.address, await session.send(endpoint, source.address, body));
      },
    }),
  );
}
