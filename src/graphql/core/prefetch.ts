import { type GraphQLSchema, getNamedType, isAbstractType, isObjectType } from "graphql";
import type { FieldExtensions, SelectionNeeds, Variables } from "../../engine/field-extensions.ts";
import { isGatewayError, StacklessError } from "../../errors.ts";
import type { Context } from "./context.ts";
import { Entity } from "./refs.ts";
import { fetchMore, isLoaded, type Resource } from "./resource.ts";

/*
 * Prefetches what is selected of a resource: its record and, in parallel, the reads that need only its address. Resolvers of fields that
 * return resources therefore do not look at the selection.
 */

const isEntity = ({ name }: { readonly name: string }) => name === Entity.name;

/**
 * Adds `prefetch` to every field that returns resources: types that implement `Entity`. The engine calls `prefetch` only where null is
 * allowed, so that a failed read makes no other field null.
 */
export function prefetchResources(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const named = getNamedType(field.type);
      const returned = isAbstractType(named) ? schema.getPossibleTypes(named) : [named];
      if (!returned.every((each) => isObjectType(each) && each.getInterfaces().some(isEntity))) continue;
      field.extensions = { ...field.extensions, prefetch: loadSelected } satisfies FieldExtensions;
    }
  }
  return schema;
}

const NO_NEEDS: SelectionNeeds = { keys: [], children: [] };

/**
 * Loads the selected keys and children of a resource.
 *
 * A resource from a record or a federation router is read only if keys of its record are selected. It is null with one error if it does not
 * exist. On any other failure, only the fields that need the record fail.
 *
 * A resource that the caller has named must be verified: by its children or, if they prove nothing, by its record. It is null with one
 * error on any failure. Kinds that not every server can verify are the exception: they are loaded like references.
 */
function loadSelected(
  resource: Resource,
  selected: SelectionNeeds,
  context: Context,
  variables: Variables,
): Resource | Promise<Resource> {
  const { kind, needsVerification } = resource;
  const { lookAhead, server } = context;
  const needs = lookAhead ? selected : NO_NEEDS;
  const isEnough = isLoaded(resource, needs.keys, server);
  if (needsVerification) context.session.requireToken();
  const mustVerify = needsVerification && kind.verifiedBy !== null;
  if (isEnough && !mustVerify) {
    context.onFree?.();
    return resource;
  }
  const startAll = ({ children }: SelectionNeeds) =>
    children.map(async ({ start, proves }) => proves(await start(resource, context, variables)));
  const fetchRecord = (wanted: SelectionNeeds): Promise<Resource> => {
    const record = fetchMore(resource, wanted.keys, context.session, mustVerify);
    // An error is ignored here, because the field itself starts the same read again, shares its result and reports the error at its own
    // path.
    for (const child of startAll(wanted)) child.catch(() => {});
    return record;
  };
  if (!mustVerify || !isEnough || kind.verifiedBy === "record") return fetchRecord(needs);
  // If only deferred fragments have reads, these reads verify the resource, which saves a request.
  const later = needs.children.length === 0 ? needs.deferred?.() : undefined;
  const proofs = later && isLoaded(resource, later.keys, server) ? later : needs;
  return isUnprovenAfter(startAll(proofs)).then((isUnproven) =>
    isUnproven ? fetchRecord(proofs) : { ...resource, needsVerification: false },
  );
}

/** Resolves with true if no read has proved that the resource exists. Rejects with `NOT_FOUND` if a read shows that it does not exist. */
async function isUnprovenAfter(proofs: readonly Promise<boolean>[]): Promise<boolean> {
  if (proofs.length === 0) return true;
  try {
    await Promise.any(proofs.map(async (proof) => (await proof) || Promise.reject(new NoProof())));
    return false;
  } catch (error) {
    const errors = (error as AggregateError).errors as readonly unknown[];
    const missing = errors.find((each) => isGatewayError(each, "NOT_FOUND"));
    if (missing) throw missing;
    // The fields report all other failures.
    return errors.some((each) => each instanceof NoProof);
  }
}

class NoProof extends StacklessError {}
