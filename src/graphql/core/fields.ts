import type { ObjectRef } from "@pothos/core";
import { LRUCache } from "lru-cache";
import type { IsSelected, FieldExtensions } from "../../engine/field-source.ts";
import type { PothosTypes } from "./builder.ts";
import type { Context } from "./context.ts";
import { type Address, type Kind, type Resource, isLoaded, load, resolveReference } from "./resource.ts";

/**
 * The source of a field's value. The field's resolver and its needs are both derived from it. Sources are untyped; the
 * helpers below check the types.
 */
type FieldSource =
  /** A key of the record, unchanged. */
  | { readonly kind: "property"; readonly key: string }
  /** Computed from keys of the record. */
  | {
      readonly kind: "computed";
      readonly keys: readonly string[];
      readonly compute: (record: never, resource: never, args: never) => unknown;
    }
  /** Computed from the address, without a request. */
  | {
      readonly kind: "address";
      readonly compute: (resource: never, args: never, context: Context) => unknown;
    }
  /** The resource that a key of the record refers to. */
  | { readonly kind: "reference"; readonly key: string; readonly target: { readonly name: string } }
  /** Own reads that need only the address, so that they start together with the read of the record. */
  | {
      readonly kind: "child";
      readonly start: (
        resource: never,
        args: never,
        context: Context,
        isSelected: IsSelected,
      ) => Promise<unknown>;
      /** Whether the result shows that the resource exists. */
      readonly proves: (read: never) => boolean;
    };

/** The metadata of a source for the engine. */
function extensionsOf(source: FieldSource): FieldExtensions {
  if (source.kind === "child") return { child: source };
  if (source.kind === "computed") return { keys: source.keys };
  if (source.kind === "property") return { keys: [source.key], property: source.key };
  return "key" in source ? { keys: [source.key] } : {};
}

type Resolver = (
  resource: Resource<Readonly<Record<string, unknown>>>,
  args: object,
  context: Context,
) => unknown;

/** Creates the resolver of a source. The engine starts the reads of a child itself, with what is selected below it. */
function resolverOf(source: FieldSource): Resolver {
  switch (source.kind) {
    case "property": {
      const { key } = source;
      return fromRecord([key], (record) => record[key] ?? null);
    }
    case "computed": {
      const compute = source.compute as (record: object, resource: Resource, args: object) => unknown;
      return fromRecord(source.keys, compute);
    }
    case "reference": {
      const { key } = source;
      const resolve = resolverTo(source.target as Kind);
      return fromRecord([key], (record) => {
        const name = record[key];
        return typeof name === "string" && name !== "" ? resolve(name) : null;
      });
    }
    case "address": {
      const compute = source.compute as (resource: Resource, args: object, context: Context) => unknown;
      return (resource, args, context) => compute(resource, args, context);
    }
    case "child":
      return () => {
        throw new TypeError("expected the engine to start the reads of the field");
      };
  }
}

/** Characters of the references to one kind that are remembered. */
const REMEMBERED_CHARACTERS = 50_000;

/** Resolves references. The rows of a list repeat a few of them, and resources with nothing but a name are the same for all. */
function resolverTo(target: Kind): (reference: string) => Resource {
  const known = new LRUCache<string, Resource>({ maxSize: REMEMBERED_CHARACTERS });
  return (reference) => {
    const before = known.get(reference);
    if (before) return before;
    const resource = resolveReference(target, reference);
    known.set(reference, resource, { size: reference.length });
    return resource;
  };
}

type FromRecord = (record: Readonly<Record<string, unknown>>, resource: Resource, args: object) => unknown;

/** The context of the object whose field has this context: its record is loaded for the object. */
const contextAbove = (context: Context): Context =>
  context.at && context.place?.parent ? context.at(context.place.parent) : context;

const fromRecord =
  (keys: readonly string[], compute: FromRecord): Resolver =>
  (resource, args, context) =>
    isLoaded(resource, keys, context.server)
      ? compute(resource.loaded, resource, args)
      : load(resource, keys, contextAbove(context).session).then((record) => compute(record, resource, args));

/** A value of an object that is no resource, unchanged. */
export const shown = <const Key extends string>(key: Key) => ({
  extensions: { property: key } satisfies FieldExtensions,
  resolve: <Value>(object: Readonly<Record<Key, Value>>): Value => object[key],
});

/*
 * Typed helpers for fields of resources. Each returns the options of one Pothos field: `t.string({ description,
 * ...property("dockerfile") })`. They check the types of the sources.
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
