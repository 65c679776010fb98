import fc from "fast-check";
import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
} from "graphql";
import { schema } from "../../src/graphql/schema.ts";
import fieldTable from "./random-fields.json" with { type: "json" };

/** A root field with its arguments, and the type whose fields are selected below it. */
export type Root = readonly [field: string, type: string];

/** Root fields for records of the demo. */
// Safe: each entry of the file is a pair.
export const EXISTING_ROOTS = fieldTable.roots as unknown as readonly Root[];

/** Root fields for records of the demo, and for records that do not exist or cannot be read. */
export const ROOTS: readonly Root[] = [
  ...EXISTING_ROOTS,
  ['experiment(id: "ada.mnist.999999")', "Experiment"],
  ['job(id: "not a name")', "Job"],
  ['entities(ids: ["RXhwZXJpbWVudDphZGEvbW5pc3QvNDI", "?", "Sm9iOmFkYS9tbmlzdC8x"])', "Experiment"],
];

/** The parts from which random operations are built. */
interface Material {
  /** Root fields with their arguments, and the types whose fields are selected below them. */
  readonly roots: readonly Root[];
  /** Fields that are never selected, as `name` or `Type.name`. */
  readonly leftOut: ReadonlySet<string>;
  /** Maximum depth of selections below the root fields. */
  readonly depth: number;
}

const ARGUMENTS: Readonly<Record<string, string>> = fieldTable.arguments;

/** Random operations of one to three root fields, to be sent with `VARIABLES`. */
export const operation = (material: Material): fc.Arbitrary<string> =>
  fc
    .uniqueArray(fc.constantFrom(...material.roots), { minLength: 1, maxLength: 3 })
    .chain((roots) =>
      fc.tuple(
        ...roots.map(([field, type]) =>
          selection(objectType(type), material.depth, material.leftOut).map(
            (set) => `${field} { ... on ${type} ${set} }`,
          ),
        ),
      ),
    )
    .map(
      (roots) =>
        `query ($yes: Boolean!, $no: Boolean!) { y: __typename @include(if: $yes) n: __typename @include(if: $no) ${roots.map((root, index) => `r${index}: ${root}`).join(" ")} }`,
    );

/**
 * Random operations whose lists contain the same records at several paths: with the same selection, with a different selection, and through
 * an interface.
 */
export const listOperation = ({ leftOut, depth }: Omit<Material, "roots">): fc.Arbitrary<string> =>
  fc
    .tuple(selection(objectType("Experiment"), depth, leftOut), selection(objectType("BuildJob"), 2, leftOut))
    .map(
      ([run, build]) => `
      query ($yes: Boolean!, $no: Boolean!) {
        y: __typename @include(if: $yes) n: __typename @include(if: $no)
        project(id: "ada.mnist") {
          a: experiments(first: 9) { nodes { ...Whole buildJob { ...Built } } }
          b: experiments(first: 9, order: { by: { field: CREATED_AT } }) { nodes { ...Whole } }
        }
        run(id: "ada.mnist.42") { ... on Experiment { ...Whole buildJob ${build} experimentGroup { id description } } }
        group(id: "ada.mnist.1") { experiments(first: 5) { nodes { buildJob ${build} experimentGroup { id description } } } }
      }
      fragment Whole on Experiment ${run}
      fragment Built on Run { __typename id name: uniqueName user { username } ... on BuildJob ${build} }`,
    );

export const VARIABLES = { yes: true, no: false };

/** Removes the gateway's address from URLs, because each gateway listens on a different port. */
export const withoutPorts = (data: object): unknown =>
  JSON.parse(JSON.stringify(data).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, ""));

function objectType(name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new TypeError(`${name} is no object type`);
  return type;
}

/** A random selection on a type: plain, aliased, in fragments of the type or its interfaces, or excluded by a variable. */
function selection(
  type: GraphQLObjectType,
  depth: number,
  leftOut: ReadonlySet<string>,
): fc.Arbitrary<string> {
  const field = (each: GraphQLField<unknown, unknown>, index: number): fc.Arbitrary<string> => {
    const named = getNamedType(each.type);
    const args = ARGUMENTS[`${type.name}.${each.name}`] ?? "";
    const below = isObjectType(named)
      ? selection(named, depth - 1, leftOut)
      : isInterfaceType(named)
        ? fc.constant("{ __typename id }")
        : fc.constant(isLeafType(named) ? "" : "{ __typename }");
    const wrappers = [
      (text: string) => text,
      (text: string) => `... on ${type.name} { ${text} }`,
      (text: string) => `... @include(if: $yes) { ${text} }`,
      (text: string) => `... @include(if: $no) { ${text} }`,
      (text: string) => `... @skip(if: $no) { ${text} }`,
    ];
    return fc
      .tuple(below, fc.constantFrom(...wrappers))
      .map(([inner, wrap]) => wrap(`a${depth}_${index}: ${each.name}${args} ${inner}`));
  };
  const fields = Object.values(type.getFields())
    .filter(({ name }) => !leftOut.has(name) && !leftOut.has(`${type.name}.${name}`))
    .filter((each) => depth > 1 || isLeafType(getNamedType(each.type)));
  return fc
    .subarray(fields, { maxLength: Math.min(5, fields.length) })
    .chain((chosen) => fc.tuple(...chosen.map(field)))
    .map((parts) => `{ __typename ${parts.join(" ")} }`);
}
