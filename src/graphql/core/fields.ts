import type { ObjectRef } from "@pothos/core";
import { LRUCache } from "lru-cache";
import {
  type FieldExtensions,
  type IsSelected,
  type KeysOf,
  LazyValue,
} from "../../engine/field-extensions.ts";
import type { PothosTypes } from "./builder.ts";
import type { Context } from "./context.ts";
import {
  type Address,
  isLoaded,
  type Kind,
  load,
  nullIfNotFound,
  type Resource,
  resolveReference,
} from "./resource.ts";

type Resolver = (
  resource: Resource<Readonly<Record<string, unknown>>>,
  args: object,
  context: Context,
) => unknown;

/** Maximum total length of the cached references to one kind, in characters. */
const REMEMBERED_CHARACTERS = 50_000;

/**
 * Returns a function that resolves the reference under a record key. The function caches resources, because rows of a list often have the
 * same reference.
 */
function referenceTo(target: Kind, key: string): FromRecord {
  const known = new LRUCache<string, Resource>({ maxSize: REMEMBERED_CHARACTERS });
  return ({ [key]: reference }) => {
    if (typeof reference !== "string" || reference === "") return null;
    const before = known.get(reference);
    if (before) return before;
    const resource = resolveReference(target, reference);
    known.set(reference, resource, { size: reference.length });
    return resource;
  };
}

function startedByEngine(): never {
  throw new TypeError("expected the engine to start the reads of the field");
}

type FromRecord = (
  record: Readonly<Record<string, unknown>>,
  resource: Resource,
  args: object,
  context: Context,
) => unknown;

const fromRecord =
  (keys: readonly string[], compute: FromRecord): Resolver =>
  (resource, args, context) => {
    if (isLoaded(resource, keys, context.server)) return compute(resource.loaded, resource, args, context);
    // A trace attributes the read to the path of the object, because its fields share the read.
    const above = context.path?.parent;
    const { session } = (above && context.at?.(above)) ?? context;
    return load(resource, keys, session).then(
      (record) => new LazyValue(() => compute(record, resource, args, context)),
    );
  };

/*
 * Typed helpers for fields of resources. Each returns the options of a Pothos field: `t.string(property("dockerfile", "Generated
 * Dockerfile."))`.
 */

/** A Pothos ref with its kind; see `refs.ts`. */
export type ResourceRef<R extends object, At extends Address> = ObjectRef<PothosTypes, Resource<R, At>> & {
  readonly kind: Kind<R, At>;
};

/** Options of a root field. `resolve` also receives a function that returns the record keys selected in the result. */
export const withKeys = <Args, Out>(
  resolve: (args: Args, context: Context, keysOf: KeysOf) => Promise<Out>,
) => ({
  extensions: {
    child: {
      start: (_: object, args: Args, context: Context, _isSelected: IsSelected, keysOf: KeysOf) =>
        resolve(args, context, keysOf),
      proves: () => true,
    },
  } satisfies FieldExtensions,
  resolve: startedByEngine,
});

/** Creates the field helpers of one kind. `R` is the record of the kind, with the service's spelling of keys. */
export function fieldsOf<R extends object, At extends Address = Address>(_kind?: Kind<R, At>) {
  type From = Resource<R, At>;

  /** The extensions and the resolver of a field. */
  const from = <Out, Args>(extensions: FieldExtensions, resolve: Resolver) => ({
    extensions: { ...extensions },
    // Safe: each helper below declares `Out` and `Args` as the types of the function that it passes.
    resolve: resolve as unknown as (resource: From, args: Args, context: Context) => Out | Promise<Out>,
  });

  const property = <const Key extends keyof R & string>(key: Key, description: string) => ({
    description,
    ...from<R[Key] | null, object>(
      { keys: [key], property: key },
      fromRecord([key], (record) => record[key] ?? null),
    ),
  });

  return {
    /** A value of the record, returned unchanged. */
    property,
    time: <const Key extends keyof R & string>(key: Key, description: string) => ({
      type: "DateTime" as const,
      ...property(key, description),
    }),

    /** A value that is computed from some keys of the record. */
    computed: <const Key extends keyof R & string, Out, Args = object>(
      keys: readonly Key[],
      description: string,
      compute: (
        record: Partial<Pick<R, Key>>,
        resource: From,
        args: Args,
        context: Context,
      ) => Out | Promise<Out>,
    ) => ({ description, ...from<Out, Args>({ keys }, fromRecord(keys, compute as unknown as FromRecord)) }),

    /** A value that is computed from the address and the loaded part of the record. It never causes an upstream request. */
    fromAddress: <Out, Args = object>(
      description: string,
      compute: (resource: From, args: Args, context: Context) => Out,
    ) => ({ nullable: false as const, description, ...from<Out, Args>({}, compute as unknown as Resolver) }),

    /** The resource to which a record key refers. Selecting only what the reference itself contains causes no upstream request. */
    reference: <To extends object, ToAt extends Address>(
      key: keyof R & string,
      target: ResourceRef<To, ToAt>,
      description: string,
    ) => ({
      type: target,
      description,
      ...from<Resource<To, ToAt> | null, object>(
        { keys: [key] },
        fromRecord([key], referenceTo(target.kind, key)),
      ),
    }),

    /**
     * A value with reads of its own, which need only the address. The engine starts them in parallel with the read of the record. `proves`
     * returns whether a result proves that the resource exists; by default, every result does.
     */
    child: <Out, Args>(
      description: string,
      start: (resource: From, args: Args, context: Context, isSelected: IsSelected) => Promise<Out>,
      proves: (read: Out) => boolean = () => true,
    ) => {
      const startChild: typeof start = (resource, ...given) => {
        const read = start(resource, ...given);
        // Safe: fields with their own reads are nullable.
        return resource.kind.mayBeHidden ? read.catch(nullIfNotFound as () => Out) : read;
      };
      return { description, ...from<Out, Args>({ child: { start: startChild, proves } }, startedByEngine) };
    },
  };
}
