import type { ObjectRef } from "@pothos/core";
import type { GraphQLResolveInfo } from "graphql";
import type { IsSelected } from "../../engine/field-source.ts";
import type { PothosTypes } from "./builder.ts";
import type { Context } from "./context.ts";
import type { Address, Kind, Resource } from "./resource.ts";
import { extensionsOf, resolverOf, type Source } from "./source.ts";

/*
 * The ways in which a field comes from a resource. Each gives the options of one Pothos field: `t.string({ description,
 * ...property("dockerfile") })`. Here the types are checked; what a source does is written in `source.ts`.
 */

/** A Pothos ref that knows its kind, as `refs.ts` makes them. */
export type ResourceRef<R extends object, At extends Address> = ObjectRef<PothosTypes, Resource<R, At>> & {
  readonly kind: Kind<R, At>;
};

/** The field helpers of one kind. `R` is its record; keys are spelled as the service spells them. */
export function fieldsOf<R extends object, At extends Address = Address>(_kind?: Kind<R, At>) {
  type From = Resource<R, At>;

  const from = <Out, Args>(source: Source) => ({
    extensions: { ...extensionsOf(source) },
    // True because each helper below takes the functions of its source with these very types.
    resolve: resolverOf(source) as unknown as (
      resource: From,
      args: Args,
      context: Context,
      info: GraphQLResolveInfo,
    ) => Out | Promise<Out>,
  });

  return {
    /** A value of the record as it came. */
    property: <const Key extends keyof R & string>(key: Key) =>
      from<R[Key] | null, object>({ kind: "property", key }),

    /** Worked out from values of the record, and from the address. */
    computed: <const Key extends keyof R & string, Out, Args = object>(
      keys: readonly Key[],
      compute: (record: Partial<Pick<R, Key>>, resource: From, args: Args) => Out,
    ) => from<Out, Args>({ kind: "computed", keys, compute }),

    /** Told by the address: never costs a request of its own. */
    fromAddress: <Out, Args = object>(compute: (resource: From, args: Args, context: Context) => Out) =>
      from<Out, Args>({ kind: "address", compute }),

    /** A resource that a value of the record names. Selecting only what the name tells costs no request. */
    reference: <To extends object, ToAt extends Address>(
      key: keyof R & string,
      target: ResourceRef<To, ToAt>,
    ) => ({
      type: target,
      ...from<Resource<To, ToAt> | null, object>({ kind: "reference", key, target: target.kind }),
    }),

    /**
     * Reads below the resource that need only its address: they start together with its own. `proves` tells whether
     * the answer shows that the resource exists; by default every answer does.
     */
    child: <Out, Args>(
      start: (resource: From, args: Args, context: Context, isSelected: IsSelected) => Promise<Out>,
      proves: (read: Out) => boolean = () => true,
    ) => from<Out, Args>({ kind: "child", start, proves }),
  };
}
