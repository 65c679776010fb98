import type { GraphQLResolveInfo } from "graphql";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "./builder.ts";
import type { Context } from "./context.ts";
import type { Thing } from "./fields.ts";
import { type Address, type Handle, handle, type Kind } from "./resource.ts";
import { identify, number } from "./ids.ts";
import type { ProjectAddress } from "./kinds.ts";
import { vouchFor } from "./prefetch.ts";

/** The `id` argument of whatever finds or changes a thing of one kind. */
export const withId = ({ kind }: { readonly kind: Pick<Kind, "example"> }) =>
  builder.args((t) => ({
    id: t.id({
      required: true,
      description: `Global id, or unique name such as \`${kind.example}\`.`,
    }),
  }));

/** A root field that finds a thing by its id: `experiment: t.field(lookUp(Experiment, "An experiment."))`. */
export const lookUp = <R extends object, At extends Address>(target: Thing<R, At>, description: string) => ({
  type: target,
  description: `${description} Null with an error when there is none.`,
  args: withId(target),
  resolve: async (
    _: object,
    { id }: { id: string },
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Handle<R, At>> => vouchFor(identify(target.kind, "id", id, context.names), context, info),
});

/** A field of a project that finds a run in it by number. */
export const memberOf = <R extends object>(target: Thing<R, RunAddress>, description: string) => ({
  type: target,
  description: `${description} Null with an error when there is none.`,
  args: builder.args((t) => ({ internalId: t.id({ required: true, description: "Integer id." }) })),
  resolve: async (
    { at }: Handle<object, ProjectAddress>,
    { internalId }: { internalId: string },
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Handle<R, RunAddress>> =>
    vouchFor(handle(target.kind, { ...at, id: number("internalId", internalId) }), context, info),
});
