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
 * Prefetches the selection of every field that returns a resource: its record, and in parallel the reads that need only
 * its address. Resolvers return resources and do not know the selection.
 */

/**
 * Adds `prefetch` to every field that returns resources. The engine calls it only at nullable positions, where a failed
 * read makes nothing else null.
 */
export function prefetchResources(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isResourceType(getNamedType(field.type), schema)) continue;
      field.extensions = { ...field.extensions, prefetch: loadSelected } satisfies FieldExtensions;
    }
  }
  return schema;
}

/** Whether a type implements `Entity`, or is a union of such types. */
function isResourceType(type: GraphQLNamedType, schema: GraphQLSchema): boolean {
  if (isInterfaceType(type) && type.name === Entity.name) return true;
  if (isObjectType(type) || isInterfaceType(type))
    return type.getInterfaces().some(({ name }) => name === Entity.name);
  return isAbstractType(type) && schema.getPossibleTypes(type).every((each) => isResourceType(each, schema));
}

function loadSelected(
  resource: Resource,
  needs: SelectionNeeds,
  context: Context,
  variables: Variables,
): Resource | Promise<Resource> {
  const selection = context.lookAhead ? needs : NOTHING;
  return resource.isUnverified
    ? verify(resource, selection, context, variables)
    : prefetch(resource, selection, context, variables);
}

const NOTHING: SelectionNeeds = { keys: [], children: [] };

/**
 * Prefetches a resource that a record or a federation router refers to, unless the address is enough. When it does not
 * exist, the resource itself is null with one error. On other failures only the fields that need the record fail.
 */
function prefetch(
  resource: Resource,
  needs: SelectionNeeds,
  context: Context,
  variables: Variables,
): Resource | Promise<Resource> {
  if (isLoaded(resource, needs.keys, context.server)) {
    context.onFree?.();
    return resource;
  }
  return read(resource, needs, context, variables).catch((error: unknown) => {
    if (!(error instanceof UpstreamError) || error.code === "NOT_FOUND") throw error;
    // The fields load the record again and share the failure.
    return resource;
  });
}

/**
 * Prefetches a resource that the caller named and verifies that it exists: by its record, even when nothing of it is
 * selected, or by its children. On any failure the resource itself is null with one error. One of a kind that not every
 * server can verify is prefetched like a link.
 */
function verify(
  resource: Resource,
  needs: SelectionNeeds,
  context: Context,
  variables: Variables,
): Resource | Promise<Resource> {
  context.session.requireToken();
  const { verifiedBy } = resource.kind;
  if (verifiedBy === null) return prefetch(resource, needs, context, variables);
  return verifiedBy === "parts" && isLoaded(resource, needs.keys, context.server)
    ? verifyByChildren(resource, proofsOf(resource, needs, context), context, variables)
    : read(resource, needs, context, variables);
}

/** What is read now, or what is read later anyway when that is nothing: no request is sent only to verify. */
function proofsOf(resource: Resource, needs: SelectionNeeds, { server }: Context): SelectionNeeds {
  const deferred = needs.children.length === 0 ? needs.deferred?.() : undefined;
  return deferred && isLoaded(resource, deferred.keys, server) ? deferred : needs;
}

async function verifyByChildren(
  resource: Resource,
  needs: SelectionNeeds,
  context: Context,
  variables: Variables,
): Promise<Resource> {
  return (await isUnproven(resource, needs, context, variables))
    ? read(resource, needs, context, variables)
    : { ...resource, isUnverified: false };
}

function read(
  resource: Resource,
  { keys, children }: SelectionNeeds,
  context: Context,
  variables: Variables,
): Promise<Resource> {
  const record = fetchMore(resource, keys, context.session);
  for (const { start } of children) {
    // The field loads it again, shares the result, and reports the error at its own path.
    start(resource, context, variables).catch(() => {});
  }
  return record;
}

/**
 * Whether the children of a resource leave its existence unproven. Rejects when one shows that it does not exist. Other
 * failures are reported at their fields.
 */
async function isUnproven(
  resource: Resource,
  { children }: SelectionNeeds,
  context: Context,
  variables: Variables,
): Promise<boolean> {
  const proofs = children.map(async ({ start, proves }) => {
    if (!proves(await start(resource, context, variables))) throw new NoProof();
  });
  if (proofs.length === 0) return true;
  try {
    await Promise.any(proofs);
    return false;
  } catch (error) {
    const errors = (error as AggregateError).errors as readonly unknown[];
    const missing = errors.find((each) => each instanceof UpstreamError && each.code === "NOT_FOUND");
    if (missing) throw missing;
    return errors.some((each) => each instanceof NoProof);
  }
}

class NoProof extends Error {}
