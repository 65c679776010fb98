import SchemaBuilder, {
  type FieldMap,
  type FieldNullability,
  type FieldOptionsFromKind,
  InputFieldBuilder,
  type InputFieldMap,
  type InputType,
  type TypeParam,
} from "@pothos/core";
import type { FieldExtensions } from "../../engine/field-extensions.ts";
import { type ByName, type Check, mapped } from "../../rest/api/record.ts";
import type { Context } from "./context.ts";

interface SchemaTypes {
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    DateTimeOrDay: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    _Any: { Input: unknown; Output: unknown };
  };
}

/** The schema builder. Fields are nullable by default. A field is non-null only if the gateway guarantees its value. */
export const builder = new SchemaBuilder<SchemaTypes>({});

/** The type parameter of this builder, for helpers that take its refs and fields. */
export type PothosTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;

export type Inputs = PothosSchemaTypes.InputFieldBuilder<PothosTypes, "InputObject">;

/** Defines a type whose objects are not resources. */
export const objectType = <Shape>(
  name: string,
  description: string,
  fields: (t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, Shape>) => FieldMap,
) => builder.objectRef<Shape>(name).implement({ description, fields });

export const arg = new InputFieldBuilder<PothosTypes, "Arg">(builder, "Arg");

/** The argument `input` of a mutation. */
export const inputArg = <Type extends InputType<PothosTypes>>(type: Type, description: string) => ({
  input: arg.field({ type, required: true, description }),
});

export const flag = (defaultValue: boolean, description: string) =>
  arg.boolean({ required: true, defaultValue, description });

/** The sentence about future additions that ends the description of every enum, interface and union. */
export const OPEN = {
  enum: "Values can be added in a minor release.",
  interface: "Types can be added in a minor release.",
  union: "Members can be added in a minor release.",
} as const;

/** Defines an enum whose internal values equal the names. `values`: the description of each. */
export const enumType = <Name extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Name, string>>,
) =>
  // Safe: without `value`, Pothos uses the name of a value as its internal value.
  builder.enumType(name, {
    description: `${description} ${OPEN.enum}`,
    values: mapped(values, (meaning) => ({ description: meaning })),
  }) as PothosSchemaTypes.EnumRef<PothosTypes, Name>;

type AddField<Kind extends "Query" | "Mutation" | "Subscription"> = <
  Type extends TypeParam<PothosTypes>,
  Event,
  Result,
  Nullable extends FieldNullability<Type> = true,
  Args extends InputFieldMap = Record<never, never>,
>(
  name: string,
  options: FieldOptionsFromKind<PothosTypes, object, Type, Nullable, Args, Kind, Event, Result>,
) => void;

export const root: {
  readonly [Kind in "Query" | "Mutation" | "Subscription" as Uncapitalize<Kind>]: AddField<Kind>;
} = {
  query: (name, options) => builder.queryField(name, (t) => t.field(options)),
  mutation: (name, options) => builder.mutationField(name, (t) => t.field(options)),
  subscription: (name, options) => builder.subscriptionField(name, (t) => t.field(options)),
};

/** A non-null field that returns a property of its object unchanged: `count: t.int(exposed("count", "Number of runs."))`. */
export const exposed = <const Key extends string>(key: Key, description: string) => ({
  ...exposedOrNull(key, description),
  nullable: false as const,
  resolve: <Value>(object: Readonly<Record<Key, Value>>): Value => object[key],
});

/** A field that returns a property of its object unchanged. The property may be null or absent. */
export const exposedOrNull = <const Key extends string>(key: Key, description: string) => ({
  description,
  extensions: { property: key } satisfies FieldExtensions,
  resolve: <Value>(object: { readonly [Each in Key]?: Value }) => object[key],
});

/** A non-null field that is computed from its object: `length: t.field(computedFrom("Int", "Length.", ({ items }) => items.length))`. */
export const computedFrom = <Type extends TypeParam<PothosTypes>, Shape, Args, Value>(
  type: Type,
  description: string,
  resolve: (object: Shape, args: Args, context: Context) => Value,
) => ({ ...computedFromOrNull(type, description, resolve), nullable: false as const });

/** A nullable field that is computed from its object. */
export const computedFromOrNull = <Type extends TypeParam<PothosTypes>, Shape, Args, Value>(
  type: Type,
  description: string,
  resolve: (object: Shape, args: Args, context: Context) => Value,
) => ({ type, description, resolve });

/** A field for a documented key of an object whose keys were not checked when it was read. Null if the value does not pass `check`. */
export const checkedProperty = <Value>(key: string, check: Check<Value>, description: string) => ({
  description,
  resolve: ({ [key]: value }: ByName) => (check(value) ? (value ?? null) : null),
});
