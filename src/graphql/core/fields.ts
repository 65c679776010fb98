import type { ObjectRef } from "@pothos/core";
import type { IsSelected } from "../../engine/field-source.ts";
import type { PothosTypes } from "./builder.ts";
import type { Context } from "./context.ts";
import type { Address, Kind, Resource } from "./resource.ts";
import { extensionsOf, resolverOf, type FieldSource } from "./source.ts";

/*
 * Typed helpers for fields of resources. Each returns the options of one Pothos field: `t.string({ description,
 * ...property("dockerfile") })`. This file checks the types; `source.ts` implements the sources.
 */

/** A Pothos ref with its kind; see `refs.ts`. */
export type ResourceRef<R extends object, At extends Address> = ObjectRef<PothosTypes, Resource<R, At>> & {
  readonly kind: Kind<R, At>;
};

/** Creates the field helpers of one kind. `R` is its record, with the service's spelling of keys. */
export function fieldsOf<R extends object, At extends Address = Address>(_kind?: Kind<R, At>) {
  type From = Resource<R, At>;

  const from = <Out, Args>(source: FieldSource) => ({
    extensions: { ...extensionsOf(source) },
    // Safe: each helper below declares the functions of its source with exactly these types.
    resolve: resolverOf(source) as unknown as (
      resource: From,
      args: Args,
      context: Context,
    ) => Out | Promise<Out>,
  });

  return {
    /** A value of the record, unchanged. */
    property: <const Key extends keyof R & string>(key: Key) =>
      from<R[Key] | null, object>({ kind: "property", key }),

    /** A value computed from keys of the record and the resource. */
    computed: <const Key extends keyof R & string, Out, Args = object>(
      keys: readonly Key[],
      compute: (record: Partial<Pick<R, Key>>, resource: From, args: Args) => Out,
    ) => from<Out, Args>({ kind: "computed", keys, compute }),

    /** A value computed from the address. Never causes a request. */
    fromAddress: <Out, Args = object>(compute: (resource: From, args: Args, context: Context) => Out) =>
      from<Out, Args>({ kind: "address", compute }),

    /** A resource that a key of the record refers to. Fields that follow from its name cause no request. */
    reference: <To extends object, ToAt extends Address>(
      key: keyof R & string,
      target: ResourceRef<To, ToAt>,
    ) => ({
      type: target,
      ...from<Resource<To, ToAt> | null, object>({ kind: "reference", key, target: target.kind }),
    }),

    /**
     * A value with reads of its own, which need only the address and start together with the read of the record. `proves`
     * tells whether a result shows that the resource exists; by default every result does.
     */
    child: <Out, Args>(
      start: (resource: From, args: Args, context: Context, isSelected: IsSelected) => Promise<Out>,
      proves: (read: Out) => boolean = () => true,
    ) => from<Out, Args>({ kind: "child", start, proves }),
  };
}
