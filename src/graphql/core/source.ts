import type { FieldExtensions, IsSelected } from "../../engine/field-source.ts";
import { type Context, contextAbove } from "./context.ts";
import { isLoaded, type Kind, load, resolveReference, type Resource } from "./resource.ts";

/**
 * The source of a field's value. The field's resolver and its needs are both derived from it. Sources are untyped;
 * `fields.ts` checks the types.
 */
export type FieldSource =
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
export function extensionsOf(source: FieldSource): FieldExtensions {
  if (source.kind === "child") return { child: source };
  if (source.kind === "computed") return { keys: source.keys };
  return "key" in source ? { keys: [source.key] } : {};
}

type Resolver = (
  resource: Resource<Readonly<Record<string, unknown>>>,
  args: object,
  context: Context,
) => unknown;

/** Creates the resolver of a source. The engine starts the reads of a child itself, with what is selected below it. */
export function resolverOf(source: FieldSource): Resolver {
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
      const target = source.target as Kind;
      return fromRecord([key], (record) => {
        const name = record[key];
        return typeof name === "string" && name !== "" ? resolveReference(target, name) : null;
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

type FromRecord = (record: Readonly<Record<string, unknown>>, resource: Resource, args: object) => unknown;

const fromRecord =
  (keys: readonly string[], compute: FromRecord): Resolver =>
  (resource, args, context) =>
    isLoaded(resource, keys, context.session)
      ? compute(resource.loaded, resource, args)
      : load(resource, keys, contextAbove(context).session).then((record) => compute(record, resource, args));
