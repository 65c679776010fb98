import { type GraphQLSchema, getNamedType, isAbstractType, isObjectType } from "graphql";
import type { FieldExtensions, SelectionNeeds, Variables } from "../../engine/field-extensions.ts";
import { isGatewayError, StacklessError } from "../../errors.ts";
import type { Context } from "./context.ts";
import { Entity } from "./refs.ts";
import { fetchMore, isLoaded, type Resource } from "./resource.ts";

/*
 * Prefetches the selection of every field that returns a resource: the record of the resource and, in parallel, the reads that need only
 * its address. The resolvers of such fields just return resources, no matter what is selected of them.
 */

const isEntity = ({ name }: { readonly name: string }) => name === Entity.name;

/**
 * Adds `prefetch` to every field that returns resources, which implement `Entity`. The engine calls it only at nullable positions, where a
 * failed read makes no other field null.
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
 * A resource to which a record or a federation router refers needs no read if the address is enough. If the resource does not exist, it is
 * null with one error. On any other failure, only the fields that need the record fail.
 *
 * A resource that the caller has named must be verified: by its record, even if no key of the record is selected, or by its children. On
 * any failure the resource is null with one error. A resource of a kind that not every server can verify is loaded like a reference.
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
    // The fields start the same reads again, share the results, and report errors at their own paths.
    for (const child of startAll(wanted)) child.catch(() => {});
    return record;
  };
  if (!mustVerify || !isEnough || kind.verifiedBy === "record") return fetchRecord(needs);
  // If the selection needs no read, the reads of deferred fragments verify the resource, so that no request is sent just for the
  // verification.
  const later = needs.children.length === 0 ? needs.deferred?.() : undefined;
  const proofs = later && isLoaded(resource, later.keys, server) ? later : needs;
  return isUnprovenAfter(startAll(proofs)).then((isUnproven) =>
    isUnproven ? fetchRecord(proofs) : { ...resource, needsVerification: false },
  );
}

/** Whether no read has proved that the resource exists. Rejects if a read shows that the resource does not exist. */
async function isUnprovenAfter(proofs: readonly Promise<boolean>[]): Promise<boolean> {
  if (proofs.length === 0) return true;
  try {
    await Promise.any(proofs.map(async (proof) => (await proof) || Promise.reject(new NoProof())));
    return false;
  } catch (error) {
    const errors = (error as AggregateError).errors as readonly unknown[];
    const missing = errors.find((each) => isGatewayError(each, "NOT_FOUND"));
    if (missing) throw missing;
    // Other failures are reported at their fields.
    return errors.some((each) => each instanceof NoProof);
  }
}

class NoProof extends StacklessError {}
