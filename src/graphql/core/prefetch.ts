import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { UpstreamError } from "../../errors.ts";
import type { Context } from "./context.ts";
import { Entity } from "./refs.ts";
import { fetchMore, isLoaded, type Resource } from "./resource.ts";
import { type SelectionNeeds, selectionNeeds } from "./selection-needs.ts";

/*
 * Wherever a field gives a resource, what its selection needs is read in one step: its record, and beside it what needs
 * only its address. This is the one place that does it; resolvers give resources and know nothing of selections.
 */

type Field = GraphQLField<unknown, Context>;
type Loader = (
  resource: Resource,
  context: Context,
  info: GraphQLResolveInfo,
) => Resource | Promise<Resource>;

/** Adds prefetching to every field that gives resources where the schema allows null: a failed read costs no more than that. */
export function prefetchResources(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values<Field>(type.getFields())) {
      if (givesResources(getNamedType(field.type), schema)) addPrefetch(field);
    }
  }
  return schema;
}

/** Resources are what implements `Entity`, and unions of it. */
function givesResources(type: GraphQLNamedType, schema: GraphQLSchema): boolean {
  if (isInterfaceType(type) && type.name === Entity.name) return true;
  if (isObjectType(type) || isInterfaceType(type))
    return type.getInterfaces().some(({ name }) => name === Entity.name);
  return isAbstractType(type) && schema.getPossibleTypes(type).every((each) => givesResources(each, schema));
}

function addPrefetch(field: Field): void {
  const { resolve = defaultFieldResolver } = field;
  const item = itemType(field.type);
  if (isNonNullType(item ?? field.type)) return;
  // Whether one or many: a field gives what its type says.
  const loadAll = (value: unknown, context: Context, info: GraphQLResolveInfo): unknown =>
    item
      ? (value as readonly (Resource | Promise<Resource>)[] | null)?.map((each) =>
          each instanceof Promise
            ? each.then((resource) => loadSelected(resource, context, info))
            : loadSelected(each, context, info),
        )
      : value && loadSelected(value as Resource, context, info);
  field.resolve = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info);
    return value instanceof Promise
      ? value.then((given: unknown) => loadAll(given, context, info))
      : loadAll(value, context, info);
  };
}

function itemType(type: GraphQLOutputType): GraphQLOutputType | null {
  const list = getNullableType(type);
  return isListType(list) ? list.ofType : null;
}

const loadSelected: Loader = (resource, context, info) =>
  resource.isUnverified ? verify(resource, context, info) : prefetch(resource, context, info);

/**
 * Reads what is selected of a resource that something vouches for: a record that names it, or a router. What its address
 * tells costs nothing. A resource that does not exist is one null and one error at this place; when its record cannot be
 * had for another reason, the fields that need it tell so, and the others keep their values.
 */
const prefetch: Loader = (resource, context, info) => {
  if (!context.lookAhead) return resource;
  const needs = needsOf(resource, context, info);
  if (isLoaded(resource, needs.keys)) return resource;
  return read(resource, needs, context).catch((fault: unknown) => {
    if (!(fault instanceof UpstreamError) || fault.code === "NOT_FOUND") throw fault;
    // The fields ask again and share the failure.
    return resource;
  });
};

/**
 * Reads what is selected of a resource that a caller named, and at least what shows that it exists: its record, also
 * when nothing of it is selected, or what is below it. Whatever keeps the record away is one null and one error at this
 * place.
 */
async function verify(resource: Resource, context: Context, info: GraphQLResolveInfo): Promise<Resource> {
  context.session.requireToken();
  const needs = context.lookAhead ? needsOf(resource, context, info) : NO_NEEDS;
  const isRead =
    !isLoaded(resource, needs.keys) ||
    (resource.kind.isReadable && (await isUnproven(resource, needs, context)));
  const verified = isRead ? await read(resource, needs, context) : resource;
  return { ...verified, isUnverified: false };
}

const NO_NEEDS: SelectionNeeds = { keys: [], children: [] };

const needsOf = ({ kind }: Resource, { names }: Context, info: GraphQLResolveInfo): SelectionNeeds =>
  selectionNeeds(info, names.served(kind.name));

function read(resource: Resource, { keys, children }: SelectionNeeds, context: Context): Promise<Resource> {
  const further = fetchMore(resource, keys, context.session);
  for (const { start } of children) {
    // The field itself asks again, shares the answer, and reports its error in its place.
    start(resource, context).catch(() => {});
  }
  return further;
}

/**
 * Whether the reads below a resource leave open if it exists. Rejects when they say that it does not; a failure that
 * says nothing of it is told at its field.
 */
async function isUnproven(
  resource: Resource,
  { children }: SelectionNeeds,
  context: Context,
): Promise<boolean> {
  const proofs = children.map(async ({ start, proves }) => {
    if (!proves(await start(resource, context))) throw new NoProof();
  });
  if (proofs.length === 0) return true;
  try {
    await Promise.any(proofs);
    return false;
  } catch (thrown) {
    const faults = (thrown as AggregateError).errors as readonly unknown[];
    const missing = faults.find((fault) => fault instanceof UpstreamError && fault.code === "NOT_FOUND");
    if (missing) throw missing;
    return faults.some((fault) => fault instanceof NoProof);
  }
}

class NoProof extends Error {}
