import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isObjectType,
} from "graphql";
import type { FieldExtensions, SelectionNeeds, Variables } from "../../engine/field-source.ts";
import { UpstreamError } from "../../errors.ts";
import type { Context } from "./context.ts";
import { Entity } from "./refs.ts";
import { fetchMore, isLoaded, type Resource } from "./resource.ts";

/*
 * Wherever a field gives a resource, what its selection needs is read in one step: its record, and beside it what needs
 * only its address. This is the one place that does it; resolvers give resources and know nothing of selections.
 */

/**
 * Has every field prefetch that gives resources. The engine does it where the schema allows null: there a failed read
 * costs no more than that.
 */
export function prefetchResources(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (!givesResources(getNamedType(field.type), schema)) continue;
      field.extensions = { ...field.extensions, prefetch: loadSelected } satisfies FieldExtensions;
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

/** What is selected of a resource, and the variables of the operation. */
interface Selection extends SelectionNeeds {
  readonly variables: Variables;
}

function loadSelected(
  resource: Resource,
  { keys, children }: SelectionNeeds,
  context: Context,
  variables: Variables,
): Resource | Promise<Resource> {
  const selection = context.lookAhead ? { keys, children, variables } : NOTHING;
  return resource.isUnverified
    ? verify(resource, selection, context)
    : prefetch(resource, selection, context);
}

const NOTHING: Selection = { keys: [], children: [], variables: {} };

/**
 * Reads what is selected of a resource that something vouches for: a record that names it, or a router. What its address
 * tells costs nothing. A resource that does not exist is one null and one error at this place; when its record cannot be
 * had for another reason, the fields that need it tell so, and the others keep their values.
 */
function prefetch(resource: Resource, selection: Selection, context: Context): Resource | Promise<Resource> {
  if (isLoaded(resource, selection.keys)) return resource;
  return read(resource, selection, context).catch((fault: unknown) => {
    if (!(fault instanceof UpstreamError) || fault.code === "NOT_FOUND") throw fault;
    // The fields ask again and share the failure.
    return resource;
  });
}

/**
 * Reads what is selected of a resource that a caller named, and at least what shows that it exists: its record, also
 * when nothing of it is selected, or what is below it. Whatever keeps the record away is one null and one error at this
 * place.
 */
async function verify(resource: Resource, selection: Selection, context: Context): Promise<Resource> {
  context.session.requireToken();
  const isRead =
    !isLoaded(resource, selection.keys) ||
    (resource.kind.isReadable && (await isUnproven(resource, selection, context)));
  const verified = isRead ? await read(resource, selection, context) : resource;
  return { ...verified, isUnverified: false };
}

function read(
  resource: Resource,
  { keys, children, variables }: Selection,
  context: Context,
): Promise<Resource> {
  const further = fetchMore(resource, keys, context.session);
  for (const { start } of children) {
    // The field itself asks again, shares the answer, and reports its error in its place.
    start(resource, context, variables).catch(() => {});
  }
  return further;
}

/**
 * Whether the reads below a resource leave open if it exists. Rejects when they say that it does not; a failure that
 * says nothing of it is told at its field.
 */
async function isUnproven(
  resource: Resource,
  { children, variables }: Selection,
  context: Context,
): Promise<boolean> {
  const proofs = children.map(async ({ start, proves }) => {
    if (!proves(await start(resource, context, variables))) throw new NoProof();
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
