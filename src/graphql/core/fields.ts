import type { ObjectRef } from "@pothos/core";
import type { GraphQLResolveInfo } from "graphql";
import type { PothosTypes } from "./builder.ts";
import type { Context } from "./context.ts";
import { type Address, type Handle, type Kind, need } from "./resource.ts";
import { type Needs, resolveReference } from "./prefetch.ts";
import { type Below, belowOf } from "./selection.ts";

/*
 * The ways in which a field comes from a record. Each gives the options of one Pothos field: what it needs
 * (for the look-ahead) and its resolver, from one declaration.
 */

/** A Pothos ref that knows its kind, as `refs.ts` makes them. */
export type Thing<R extends object, At extends Address> = ObjectRef<PothosTypes, Handle<R, At>> & {
  readonly kind: Kind<R, At>;
};

const declare = <Resolve>(needs: Needs, resolve: Resolve) => ({ extensions: { needs }, resolve });

/** The field helpers of one record. `R` is its wire shape; keys are spelled as on the wire. */
export function fieldsOf<R extends object, At extends Address = Address>(_kind?: Kind<R, At>) {
  type From = Handle<R, At>;

  /** Worked out from values of the record, and from the address. */
  const derived = <const Key extends keyof R & string, Out, Args = object>(
    keys: readonly Key[],
    work: (record: Partial<Pick<R, Key>>, thing: From, args: Args) => Out,
  ) =>
    declare({ keys }, (thing: From, args: Args, { session }: Context): Out | Promise<Out> => {
      const record = need(thing, keys, session);
      return record instanceof Promise
        ? record.then((whole) => work(whole, thing, args))
        : work(record, thing, args);
    });

  return {
    derived,

    /** A value of the record as it came. */
    value: <const Key extends keyof R & string>(key: Key) => derived([key], (record) => record[key] ?? null),

    /** Told by the address: never costs a request. */
    known: <Out>(work: (thing: From, args: object, context: Context, info: GraphQLResolveInfo) => Out) =>
      declare({ keys: [] }, work),

    /** A thing that a value of the record refers to by name. Selecting only what the name tells costs no request. */
    link: <To extends object, ToAt extends Address>(key: keyof R & string, target: Thing<To, ToAt>) => ({
      type: target,
      ...declare(
        { keys: [key] },
        async (thing: From, _: object, context: Context, info: GraphQLResolveInfo) => {
          const { [key]: name } = await need(thing, [key], context.session);
          return typeof name === "string" && name !== ""
            ? resolveReference(target.kind, name, context, info)
            : null;
        },
      ),
    }),

    /**
     * Reads below the thing that need only its address: they start together with the thing's own. `shows` tells whether
     * the answer shows that the thing is there; by default every answer does.
     */
    below: <Out, Args>(
      start: (thing: From, args: Args, context: Context, below: Below) => Promise<Out>,
      shows: (read: Out) => boolean = () => true,
    ) =>
      declare(
        { keys: [], start, shows },
        (thing: From, args: Args, context: Context, info: GraphQLResolveInfo) =>
          start(thing, args, context, belowOf(info.fieldNodes, info)),
      ),
  };
}
