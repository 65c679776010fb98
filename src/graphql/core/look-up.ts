import type { AnyEndpoint } from "../../rest/api/endpoint.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "./builder.ts";
import type { Context } from "./context.ts";
import type { ResourceRef } from "./fields.ts";
import { identify, number } from "./ids.ts";
import type { ProjectAddress } from "./kinds.ts";
import { type Address, type Kind, type Resource, toResource, unverified } from "./resource.ts";

/** The `id` argument of fields that find or change a resource of one kind. */
export const withId = ({ kind }: { readonly kind: Pick<Kind, "exampleName"> }) =>
  builder.args((t) => ({
    id: t.id({
      required: true,
      description: `Global id, or unique name such as \`${kind.exampleName}\`.`,
    }),
  }));

/** What the description of a field ends with whose endpoint belongs to a capability. */
export const requires = ({ optional }: Pick<AnyEndpoint, "optional">): string =>
  optional?.capability ? ` Requires the capability \`${optional.capability}\`.` : "";

/** A root field that finds a resource by its id: `experiment: t.field(lookUp(Experiment, "An experiment."))`. */
export const lookUp = <R extends object, At extends Address>(
  target: ResourceRef<R, At>,
  description: string,
) => ({
  type: target,
  description: `${description} Null with an error if it does not exist.`,
  args: withId(target),
  resolve: (_: object, { id }: { id: string }, { names }: Context): Resource<R, At> =>
    unverified(identify(target.kind, "id", id, names)),
});

/** A field of a project that finds a run in it by number. */
export const memberOf = <R extends object>(target: ResourceRef<R, RunAddress>, description: string) => ({
  type: target,
  description: `${description} Null with an error if it does not exist.`,
  args: builder.args((t) => ({
    internalId: t.id({ required: true, description: "Integer id in the tracking service." }),
  })),
  resolve: (
    { address }: Resource<object, ProjectAddress>,
    { internalId }: { internalId: string },
  ): Resource<R, RunAddress> =>
    unverified(toResource(target.kind, { ...address, id: number("internalId", internalId) })),
});
