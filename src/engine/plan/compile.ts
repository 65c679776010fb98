import {
  type FieldNode,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isLeafType,
  isNonNullType,
  type SelectionSetNode,
} from "graphql";
import type { FieldExtensions, PlacedContext, SchemaExtensions, SelectionNeeds } from "../field-source.ts";
import { INTROSPECTION } from "../limits/selection.ts";
import { argumentsOf, noArgs } from "./arguments.ts";
import {
  collectFields,
  type CollectSettings,
  type NodesByKey,
  selectedBelow,
  setsOf,
  withoutSpread,
} from "./collect.ts";
import { asIsOf, completerOf } from "./complete.ts";
import type {
  Compilation,
  Complete,
  CompletedField,
  DeferredFragment,
  PlainField,
  PlannedField,
  Selection,
  Slots,
  StartRead,
} from "./types.ts";

/** What the selections of one plan have in common. */
export interface CompileSettings extends CollectSettings {
  /** Receives the heap size of each compiled selection, in bytes. */
  readonly onCompiled: (bytes: number) => void;
}

/** Measured heap size of a planned field, and per character of its arguments. */
const BYTES_PER_FIELD = 1_400;
const BYTES_PER_CHARACTER = 16;

/** A compilation whose selections are compiled. */
interface Compiling extends Compilation {
  /** The selection of sets on a type, compiled on first use. `key` tells it apart from the others on that type. */
  readonly compiled: (type: GraphQLObjectType, key: object, sets: readonly SelectionSetNode[]) => Selection;
}

/** Compiles the selections of one operation, each on first use. */
export function createCompilation(settings: CompileSettings): Compiling {
  const byType = new Map<GraphQLObjectType, Map<object, Selection>>();
  const compilation: Compiling = {
    schema: settings.schema,
    isIncremental: settings.deferral !== null,
    streamedOf: (nodes) => settings.deferral?.streamedOf(nodes) ?? null,
    selectionOf: (type, nodes) => {
      const sets = setsOf(nodes);
      const [only] = sets;
      // Merged sets are told apart by their nodes; the others are shared by all fields that spread the same fragment.
      const key = only && sets.length === 1 ? withoutSpread(settings, type, only) : nodes;
      return compilation.compiled(type, key, sets);
    },
    compiled: (type, key, sets) => {
      const selections = byType.get(type) ?? new Map<object, Selection>();
      byType.set(type, selections);
      const before = selections.get(key);
      if (before) return before;
      const selection = compileSelection(settings, compilation, type, sets);
      selections.set(key, selection);
      return selection;
    },
  };
  return compilation;
}

/** Compiles merged selection sets for an object type. */
export function compileSelection(
  settings: CompileSettings,
  compilation: Compiling,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): Selection {
  const { nodesByKey, begun } = collectFields(settings, type, sets);
  const { deferral } = settings;
  const selection = selectionOf(settings, compilation, type, nodesByKey);
  if (!deferral) return selection;
  const isKept = selection.isKept && !deferral.isWithin(sets);
  if (begun.length === 0) return { ...selection, isKept };
  const deferred = begun.map(({ label, set }) => ({
    label,
    selection: () => compilation.compiled(type, set, [set]),
  }));
  return {
    ...selection,
    isKept,
    // Without plain fields its objects are not written in one loop, which would pass over what is deferred.
    plain: [],
    others: selection.fields,
    needs: { ...selection.needs, deferred: () => needsOfAll(deferred) },
    deferred,
  };
}

/** What deferred fragments need, with those within them. */
function needsOfAll(deferred: readonly DeferredFragment[]): SelectionNeeds {
  const all = deferred.flatMap(({ selection }) => {
    const { needs } = selection();
    return needs.deferred ? [needs, needs.deferred()] : [needs];
  });
  return { keys: all.flatMap(({ keys }) => keys), children: all.flatMap(({ children }) => children) };
}

/** Compiles collected fields. */
function selectionOf(
  settings: CompileSettings,
  compilation: Compilation,
  type: GraphQLObjectType,
  nodesByKey: NodesByKey,
): Selection {
  const fields = [...nodesByKey].map(([key, nodes]) => compileField(settings, compilation, type, key, nodes));
  settings.onCompiled(weigh(fields));
  const extensionsOf = ({ name }: PlannedField): FieldExtensions => type.getFields()[name]?.extensions ?? {};
  const plain = fields.map((field) => plainFieldOf(type, field, extensionsOf(field)));
  const isOfRecord = fields.some((field) => extensionsOf(field).keys !== undefined);
  return {
    type,
    fields,
    plain: plain.filter((field) => field !== null),
    others: fields.filter((_, index) => plain[index] === null),
    isOfRecord,
    isKept: isOfRecord,
    deferred: [],
    needs: needsOf(type, fields),
    createObject: objectFactory([...nodesByKey.keys()]),
  };
}

/** A field as one that shows a key of the record as it is; null for others. */
function plainFieldOf(
  type: GraphQLObjectType,
  { name, key, keyBytes, isNullable }: PlannedField,
  { property }: FieldExtensions,
): PlainField | null {
  const definition = type.getFields()[name];
  const leaf = definition && getNullableType(definition.type);
  if (property === undefined || definition?.args.length !== 0 || !isLeafType(leaf)) return null;
  const isAsIs = asIsOf(leaf);
  return isAsIs && { key, keyBytes, property, isAsIs, isNullable };
}

/**
 * Creates the function that creates the objects of one selection. A copy of a parsed object keeps the fast properties of V8,
 * however many it has: `JSON.stringify` is several times slower for results that contain an object without.
 */
function objectFactory(keys: readonly string[]): () => Slots {
  const empty = Object.fromEntries(keys.map((key) => [key, null]));
  if (keys.includes("__proto__")) return () => Object.assign(Object.create(null), empty) as Slots;
  const template = JSON.parse(JSON.stringify(empty)) as Slots;
  return () => ({ ...template });
}

function weigh(fields: readonly PlannedField[]): number {
  let bytes = BYTES_PER_FIELD;
  for (const { nodes } of fields) {
    const given = nodes[0]?.arguments ?? [];
    const characters = (given.at(-1)?.loc?.end ?? 0) - (given[0]?.loc?.start ?? 0);
    bytes += BYTES_PER_FIELD + characters * BYTES_PER_CHARACTER;
  }
  return bytes;
}

/** What the fields need from their parent object. */
function needsOf(type: GraphQLObjectType, fields: readonly PlannedField[]): SelectionNeeds {
  const keys = new Set<string>();
  const children: SelectionNeeds["children"][number][] = [];
  for (const field of fields) {
    const extensions: FieldExtensions = type.getFields()[field.name]?.extensions ?? {};
    for (const key of extensions.keys ?? []) keys.add(key);
    const { child } = field;
    if (!extensions.child || !child) continue;
    children.push({
      start: (parent, context, variables) =>
        child(parent, field.argsFor(variables), contextBelow(context, field.key)),
      // Safe: it is the result of the field's own reads.
      proves: extensions.child.proves as (read: unknown) => boolean,
    });
  }
  return { keys: [...keys], children };
}

/** The context for a field of the object whose context this is. */
const contextBelow = (context: PlacedContext, key: string): PlacedContext =>
  context.at ? context.at({ parent: context.place, at: key }) : context;

function compileField(
  settings: CompileSettings,
  compilation: Compilation,
  parent: GraphQLObjectType,
  key: string,
  nodes: FieldNode[],
): PlannedField {
  // Every response name has at least one node.
  const [node] = nodes as [FieldNode];
  const parentType = parent.name;
  const name = node.name.value;
  const keyBytes = key.length + 6;
  const definition = definitionOf(settings.schema, parent, name);
  // Each literal in full: spreading objects here took a third of the time to plan a document.
  if (!definition) {
    return {
      parentType,
      name,
      nodes,
      key,
      keyBytes,
      isNullable: false,
      resolve: noArgs,
      argsFor: noArgs,
      complete: (_, slots, at) => void (slots[at] = parentType),
      child: null,
    };
  }
  const { prefetch }: FieldExtensions = definition.extensions;
  const child = childOf(settings, definition, nodes);
  return {
    parentType,
    name,
    nodes,
    key,
    keyBytes,
    isNullable: !isNonNullType(definition.type),
    resolve: child ?? resolverOf(settings.schema, definition),
    argsFor: argumentsOf(definition, node),
    complete: completeOf(compilation, definition, { parentType, name, nodes, prefetch }),
    child,
  };
}

/** Completers of single scalars and enums, by field: they are the same wherever the field is selected. */
const leafCompleters = new WeakMap<GraphQLField<unknown, unknown>, Complete>();

function completeOf(
  compilation: Compilation,
  definition: GraphQLField<unknown, unknown>,
  field: CompletedField,
): Complete {
  if (!isLeafType(getNullableType(definition.type))) return completerOf(compilation, definition.type, field);
  const complete = leafCompleters.get(definition) ?? completerOf(compilation, definition.type, field);
  leafCompleters.set(definition, complete);
  return complete;
}

/** The field of a name; null for `__typename`, which every type has. */
function definitionOf(
  schema: GraphQLSchema,
  parent: GraphQLObjectType,
  name: string,
): GraphQLField<unknown, unknown> | null {
  const introspection = parent === schema.getQueryType() ? INTROSPECTION.get(name) : undefined;
  return introspection ?? parent.getFields()[name] ?? null;
}

/** The field's resolver, by default its property. */
function resolverOf(
  schema: GraphQLSchema,
  { name, resolve }: GraphQLField<unknown, unknown>,
): PlannedField["resolve"] {
  if (!resolve) return (parent) => (parent as Readonly<Record<string, unknown>>)[name];
  // Safe: it has no fourth parameter.
  if (resolve.length < 4) return resolve as PlannedField["resolve"];
  // Safe: only the resolvers of introspection have one, and they read nothing else of it.
  const { introspected }: SchemaExtensions = schema.extensions;
  const info = { schema: introspected?.() ?? schema } as GraphQLResolveInfo;
  return (parent, args, context) => resolve(parent, args, context, info);
}

/** Starts the field's own reads for what is selected below it; null when it has none. */
function childOf(
  settings: CompileSettings,
  { extensions }: GraphQLField<unknown, unknown>,
  nodes: readonly FieldNode[],
): StartRead | null {
  const { child }: FieldExtensions = extensions;
  if (!child) return null;
  // Safe: the engine calls it with parents of the field's type and with its coerced arguments.
  const start = child.start as (...given: readonly unknown[]) => Promise<unknown>;
  const isSelected = selectedBelow(settings, nodes);
  return (parent, args, context) => start(parent, args, context, isSelected);
}
