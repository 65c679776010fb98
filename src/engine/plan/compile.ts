import {
  type FieldNode,
  getArgumentValues,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isAbstractType,
  isLeafType,
  isNonNullType,
  isObjectType,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from "graphql";
import { textOf } from "../documents/parse.ts";
import type {
  FieldExtensions,
  KeysOf,
  SchemaExtensions,
  SelectionNeeds,
  Variables,
} from "../field-extensions.ts";
import { INTROSPECTION } from "../limits.ts";
import { collectFields, type CollectSettings, selectedBelow, setsOf, withoutSpread } from "./collect.ts";
import { passThroughOf, completerOf } from "./complete.ts";
import { NO_ARGS } from "./execute.ts";
import type { Compilation, DeferredFragment, PlannedField, Selection, ResultSlots } from "./types.ts";

interface CompileSettings extends CollectSettings {
  /** Receives the heap size of each compiled selection, in bytes. */
  readonly onCompiled: (bytes: number) => void;
}

/** Measured heap size of a planned field, and of each character of its arguments, in bytes. */
export const PLANNED_FIELD_BYTES = 1_400;
const PLANNED_CHARACTER_BYTES = 16;

/** Compiles the selections of one operation, each on first use. */
export function createCompilation(settings: CompileSettings): Compilation {
  const { schema, deferral } = settings;
  const byType = new Map<GraphQLObjectType, Map<object, Selection>>();

  const compiled: Compilation["compiled"] = (type, key, sets) => {
    const selections = byType.get(type) ?? new Map<object, Selection>();
    byType.set(type, selections);
    const selection = selections.get(key) ?? compile(type, sets);
    selections.set(key, selection);
    return selection;
  };

  const compile = (type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Selection => {
    const { nodesByKey, begun } = collectFields(settings, type, sets);
    const fields = [...nodesByKey].map(([key, nodes]) => compileField(type, key, nodes));
    const characters = fields.reduce((sum, { nodes }) => sum + argumentsText(nodes).length, 0);
    settings.onCompiled((fields.length + 1) * PLANNED_FIELD_BYTES + characters * PLANNED_CHARACTER_BYTES);
    const deferred = begun.map(({ label, set }) => ({ label, selection: () => compiled(type, set, [set]) }));
    // An object with a deferred part is not written in one loop, because the loop would not skip the deferred part.
    const plain = fields.map((field) => (deferred.length > 0 ? null : plainFieldOf(type, field)));
    const isOfRecord = fields.some(({ name }) => extensionsOf(type, name).keys !== undefined);
    const needs = needsOf(type, fields);
    return {
      fields,
      plain: plain.filter((field) => field !== null),
      others: fields.filter((_, index) => plain[index] === null),
      isPlain: !isOfRecord && !plain.includes(null),
      isOfRecord,
      isMemoizable: isOfRecord && !deferral,
      deferred,
      needs: deferred.length > 0 ? { ...needs, deferred: () => needsOfAll(deferred) } : needs,
      createObject: objectFactory([...nodesByKey.keys()]),
    };
  };

  const compileField = (parent: GraphQLObjectType, key: string, nodes: FieldNode[]): PlannedField => {
    // Safe: every response name has at least one node.
    const [node] = nodes as [FieldNode];
    const name = node.name.value;
    // The document is valid, so the field belongs to the type or to introspection.
    const definition = parent.getFields()[name] ?? INTROSPECTION.get(name) ?? TypeNameMetaFieldDef;
    const { prefetch, child: reads }: FieldExtensions = definition.extensions;
    // Safe: the engine calls `start` with parents of the field's type and with coerced arguments of the field.
    const start = reads?.start as ((...given: readonly unknown[]) => Promise<unknown>) | undefined;
    const isSelected = start && selectedBelow(settings, nodes);
    const keysOf: KeysOf = (...path) => keysBelow(settings, definition.type, nodes, path);
    const child: PlannedField["child"] = start
      ? (object, args, context) => start(object, args, context, isSelected, keysOf)
      : null;
    const coordinate = `${parent.name}.${name}`;
    // All properties are listed, because spreading objects here took a third of the time to plan a document.
    return {
      name,
      coordinate,
      nodes,
      key,
      keyBytes: key.length + 6,
      isNullable: !isNonNullType(definition.type),
      resolve: child ?? resolverOf(schema, parent, definition),
      argsFor: argumentsOf(definition, node),
      complete: completerOf(compilation, definition.type, { coordinate, nodes, prefetch }),
      child,
    };
  };

  const compilation: Compilation = {
    schema,
    deferral,
    compiled,
    selectionOf: (type, nodes) => {
      const sets = setsOf(nodes);
      const [only] = sets;
      // Merged selection sets are identified by their nodes. A single set is shared by all fields that spread the same fragment.
      const key = only && sets.length === 1 ? withoutSpread(settings, type, only) : nodes;
      return compiled(type, key, sets);
    },
  };
  return compilation;
}

/** The keys of records that are selected at a path below a field, deferred or not. */
function keysBelow(
  settings: CompileSettings,
  type: GraphQLOutputType,
  nodes: readonly FieldNode[],
  [name, ...rest]: readonly string[],
): readonly string[] {
  // Uses a separate compilation, whose selections are discarded afterwards.
  const { selectionOf } = createCompilation({ ...settings, deferral: null, onCompiled: () => {} });
  const named = getNamedType(type);
  const types = isAbstractType(named) ? settings.schema.getPossibleTypes(named) : [named];
  return types.filter(isObjectType).flatMap((each) => {
    const { fields, needs } = selectionOf(each, nodes);
    if (name === undefined) return needs.keys;
    const below = fields.filter((field) => field.name === name);
    return below.flatMap((field) => {
      const definition = each.getFields()[name];
      return definition ? keysBelow(settings, definition.type, field.nodes, rest) : [];
    });
  });
}

const extensionsOf = (type: GraphQLObjectType, name: string): FieldExtensions =>
  type.getFields()[name]?.extensions ?? {};

/** The needs of deferred fragments, including deferred fragments nested within them. */
function needsOfAll(deferred: readonly DeferredFragment[]): SelectionNeeds {
  // Each selection is visited once, because nested spreads can grow exponentially.
  const reached = new Set(deferred.map(({ selection }) => selection()));
  for (const each of reached) for (const { selection } of each.deferred) reached.add(selection());
  const all = [...reached].map(({ needs }) => needs);
  return { keys: all.flatMap(({ keys }) => keys), children: all.flatMap(({ children }) => children) };
}

/** The plain form of a field that returns a key of the object or its record unchanged; null for other fields. */
function plainFieldOf(type: GraphQLObjectType, { name, key, keyBytes, isNullable }: PlannedField) {
  const definition = type.getFields()[name];
  const { property } = extensionsOf(type, name);
  const leaf = definition && getNullableType(definition.type);
  if (property === undefined || definition?.args.length !== 0 || !isLeafType(leaf)) return null;
  const isPassThrough = passThroughOf(leaf);
  return isPassThrough && { key, keyBytes, property, isPassThrough, isNullable };
}

/**
 * Returns a function that creates the objects of one selection. It copies a parsed object, because such copies keep V8's fast properties,
 * however many properties they have. `JSON.stringify` is several times slower for a result that contains an object with slow properties.
 */
function objectFactory(keys: readonly string[]): () => ResultSlots {
  const template = JSON.parse(`{${keys.map((key) => `"${key}":null`).join()}}`) as ResultSlots;
  return () => ({ ...template });
}

/** The source text of the arguments of the first node. */
function argumentsText([node]: readonly FieldNode[]): string {
  const given = node?.arguments ?? [];
  return textOf(node)?.slice(given[0]?.loc?.start ?? 0, given.at(-1)?.loc?.end ?? 0) ?? "";
}

function needsOf(type: GraphQLObjectType, fields: readonly PlannedField[]): SelectionNeeds {
  const keys = new Set<string>();
  const children: SelectionNeeds["children"][number][] = [];
  for (const field of fields) {
    const extensions = extensionsOf(type, field.name);
    for (const key of extensions.keys ?? []) keys.add(key);
    const { child } = field;
    if (!extensions.child || !child) continue;
    children.push({
      start: (parent, context, variables) =>
        child(
          parent,
          field.argsFor?.(variables) ?? NO_ARGS,
          context.at?.({ parent: context.path, at: field.key }) ?? context,
        ),
      // Safe: `proves` is called with the result of the field's own reads.
      proves: extensions.child.proves as (read: unknown) => boolean,
    });
  }
  return { keys: [...keys], children };
}

function resolverOf(
  schema: GraphQLSchema,
  parentType: GraphQLObjectType,
  { name, resolve }: GraphQLField<unknown, unknown>,
): PlannedField["resolve"] {
  if (!resolve) return (parent) => (parent as Readonly<Record<string, unknown>>)[name];
  // Safe: the resolver has no fourth parameter.
  if (resolve.length < 4) return resolve as PlannedField["resolve"];
  // Safe: only the resolvers of introspection have a fourth parameter, and they read only these two properties of it.
  const { introspected }: SchemaExtensions = schema.extensions;
  const info = { schema: introspected?.() ?? schema, parentType } as GraphQLResolveInfo;
  return (parent, args, context) => resolve(parent, args, context, info);
}

/**
 * Returns a function that coerces the arguments of a field. If the arguments contain no variable, they are coerced only once. Null for a
 * field without arguments.
 */
function argumentsOf(definition: GraphQLField<unknown, unknown>, node: FieldNode): PlannedField["argsFor"] {
  if (definition.args.length === 0) return null;
  const argsFor = (variables: Variables): object => getArgumentValues(definition, node, variables);
  if (!node.loc || argumentsText([node]).includes("$")) return argsFor;
  let args: object | null = null;
  return (variables) => (args ??= argsFor(variables));
}
