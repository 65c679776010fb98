import { builder } from "./builder.ts";
import type { Context } from "./context.ts";
import type { Thing } from "./fields.ts";
import { type Address, type Handle, handle } from "./handle.ts";
import { EXAMPLES, identify, number } from "./ids.ts";
import { arrive } from "./look-ahead.ts";
import type { GraphQLResolveInfo } from "graphql";
import type { ProjectAddress } from "./kinds.ts";
import type { RunAddress } from "../rest/reference.ts";

/** The `id` argument of whatever finds or changes a thing of one kind. */
export const withId = ({ kind }: { readonly kind: { readonly name: string } }) =>
  builder.args((t) => ({
    id: t.id({
      required: true,
      description: `Global id, or unique name such as \`${EXAMPLES[kind.name]}\`.`,
    }),
  }));

/** A root field that finds a thing by its id: `experiment: t.field(lookUp(Experiment, "An experiment."))`. */
export const lookUp = <R extends object, At extends Address>(target: Thing<R, At>, description: string) => ({
  type: target,
  description,
  args: withId(target),
  resolve: (
    _: object,
    { id }: { id: string },
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Handle<R, At>> => arrive(identify(target.kind, "id", id, context.names), context, info),
});

/** A field of a project that finds a run in it by number. */
export const memberOf = <R extends object>(target: Thing<R, RunAddress>, description: string) => ({
  type: target,
  description,
  args: builder.args((t) => ({ internalId: t.id({ required: true, description: "Integer id." }) })),
  resolve: (
    { at }: Handle<object, ProjectAddress>,
    { internalId }: { internalId: string },
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Handle<R, RunAddress>> =>
    arrive(handle(target.kind, { ...at, id: number("internalId", internalId) }), context, info),
});
