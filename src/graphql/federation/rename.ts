import { GraphQLSchema, isAbstractType, Kind, type NameNode, parse, print, visit } from "graphql";
import { capital, uncapital } from "../../rest/api/kinds.ts";
import { kindsByName, plural } from "../core/kinds.ts";

/** New names of types: `{ Node: "ClusterNode" }`. */
export type Renames = Readonly<Record<string, string>>;

const rootsOf = (schema: GraphQLSchema) =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
    (type) => type ?? [],
  );

/**
 * Maps each type and root field to its new name. Renaming a type also renames what is named after it, such as `UpdateJobInput` and
 * `stopJob`.
 */
export function wordsOf(schema: GraphQLSchema, renames: Renames): ReadonlyMap<string, string> {
  // The longest name must match first: `stopBuildJob` is named after `BuildJob`, not after `Job`.
  const subjects = [...kindsByName.keys(), ...Object.keys(renames)].toSorted((a, b) => b.length - a.length);
  // oxlint-disable-next-line linear/regexp -- alternatives without a repetition, over names of the schema
  const pattern = new RegExp(`(?:${subjects.join("|")})(?![a-z])`, "g");
  const plurals = new Map(Object.entries(renames).map(([from, to]) => [plural(from), plural(to)]));
  const renamed = (name: string) =>
    plurals.get(name) ?? name.replaceAll(pattern, (subject) => renames[subject] ?? subject);
  const fields = rootsOf(schema).flatMap((type) => Object.keys(type.getFields()));
  // The names that federation defines contain an underscore, such as `_entities` and `link__Import`. They must stay.
  const own = [...Object.keys(schema.getTypeMap()), ...fields].filter((name) => !name.includes("_"));
  return new Map(
    own.map((name) => [name, /^[A-Z]/.test(name) ? renamed(name) : uncapital(renamed(capital(name)))]),
  );
}

/** Renames types and root fields, also in descriptions. Modifies the given schema, so nothing else may use it. */
export function rename(schema: GraphQLSchema, renames: Renames): GraphQLSchema {
  const words = wordsOf(schema, renames);
  const wordFor = (name: string) => words.get(name) ?? name;
  const describe = (part: { description?: string | null | undefined }) => {
    // Renames only what is in backquotes. There, a single lower-case word is a value such as `experiment`, not the root field of the same
    // name.
    part.description = part.description?.replaceAll(/`[^`]+`/g, (code) =>
      /^`[^\WA-Z]+`$/.test(code) ? code : code.replaceAll(/\w+/g, wordFor),
    );
  };
  for (const type of Object.values(schema.getTypeMap())) {
    const fields = "getFields" in type ? Object.values(type.getFields()) : [];
    for (const part of [type, ...fields, ...("getValues" in type ? type.getValues() : [])]) describe(part);
    type.name = wordFor(type.name);
    if (!isAbstractType(type)) continue;
    const { resolveType } = type;
    type.resolveType = (...given) => wordFor(String(resolveType?.(...given)));
  }
  for (const fields of rootsOf(schema).map((type) => type.getFields())) {
    const all = Object.values(fields);
    for (const { name } of all) delete fields[name];
    for (const field of all) {
      field.name = wordFor(field.name);
      fields[field.name] = field;
    }
  }
  return new GraphQLSchema(schema.toConfig());
}

/**
 * Renames types and root fields in an executable document. Keeps the comment at its beginning. Throws `GraphQLError` for invalid syntax.
 */
export function renameDocument(text: string, words: ReadonlyMap<string, string>): string {
  const called = <Named extends { readonly name: NameNode }>(node: Named): Named => {
    const { value } = node.name;
    return { ...node, name: { ...node.name, value: words.get(value) ?? value } };
  };
  const document = visit(parse(text), {
    NamedType: called,
    OperationDefinition: ({ selectionSet, ...operation }) => {
      const selections = selectionSet.selections.map((each) =>
        each.kind === Kind.FIELD ? called(each) : each,
      );
      return { ...operation, selectionSet: { ...selectionSet, selections } };
    },
  });
  return `${/^(?:#.*\n)*/.exec(text)}${print(document)}`;
}
