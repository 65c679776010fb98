import {
  type FieldNode,
  getArgumentValues,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  isObjectType,
  Kind as Syntax,
  type SelectionSetNode,
} from "graphql";
import { UpstreamError } from "../../errors.ts";
import type { Context } from "./context.ts";
import { type Below, belowOf, isLeftOut } from "./selection.ts";
import { type Address, advance, type Handle, has, type Kind, refer } from "./resource.ts";

/** What a field needs of its parent, declared beside its resolver and kept in the field's `extensions`. */
export interface Needs {
  /** Keys of the parent's record. None: the parent's address is enough. */
  readonly keys: readonly PropertyKey[];
  /** The field's own reads, when they need nothing but the parent's address: they can start before its record is there. */
  readonly start?: (thing: never, args: never, context: Context, below: Below) => Promise<unknown>;
  /** Whether what was read shows that the parent is there. */
  readonly shows?: (read: never) => boolean;
}

/** What a selection needs of the thing it is made on. */
interface Wish {
  readonly keys: PropertyKey[];
  readonly early: EarlyRead[];
}

interface EarlyRead {
  readonly start: (thing: Handle, context: Context) => Promise<unknown>;
  readonly shows: (read: unknown) => boolean;
}

/**
 * Hands a thing to its selection when something vouches for it: a record that names it, or a router. What its address
 * tells costs nothing. Anything else is read here, and what needs only the address starts in the same tick. A thing
 * that is not there is one null and one error at this place; when its record cannot be had for another reason, the
 * fields that need it tell so, and the others keep their values.
 */
export async function prefetch<R extends object, At extends Address>(
  thing: Handle<R, At>,
  context: Context,
  info: GraphQLResolveInfo,
): Promise<Handle<R, At>> {
  if (!context.lookAhead) return thing;
  const wish = wishOf(info, context.names.served(thing.kind.name));
  if (has(thing, wish.keys)) return thing;
  try {
    return await read(thing, wish, context);
  } catch (fault) {
    if (!(fault instanceof UpstreamError) || fault.code === "NOT_FOUND") throw fault;
    // The fields ask again and share the failure.
    return thing;
  }
}

/**
 * Hands a thing that a caller named to its selection, after a read has shown that it is there: of its record, also when
 * nothing of it is selected, or of what is below it. Whatever keeps the record away is one null and one error at this
 * place.
 */
export async function vouchFor<R extends object, At extends Address>(
  thing: Handle<R, At>,
  context: Context,
  info: GraphQLResolveInfo,
): Promise<Handle<R, At>> {
  context.session.requireToken();
  const wish = context.lookAhead ? wishOf(info, context.names.served(thing.kind.name)) : NO_WISH;
  if (!has(thing, wish.keys)) return read(thing, wish, context);
  if (!thing.kind.canBeRead) return thing;
  return (await isLeftOpen(thing, wish, context)) ? read(thing, wish, context) : thing;
}

function read<R extends object, At extends Address>(
  thing: Handle<R, At>,
  wish: Wish,
  context: Context,
): Promise<Handle<R, At>> {
  const further = advance(thing, wish.keys, context.session);
  for (const { start } of wish.early) {
    // The field itself asks again, shares the answer, and reports its error in its place.
    start(thing, context).catch(() => {});
  }
  return further;
}

/**
 * Whether the reads below a thing leave open if it is there. Rejects when they say that it is not; a failure that says
 * nothing of it is told at its field.
 */
async function isLeftOpen(thing: Handle, { early }: Wish, context: Context): Promise<boolean> {
  const proofs = early.map(async ({ start, shows }) => {
    if (!shows(await start(thing, context))) throw new NotShown();
  });
  if (proofs.length === 0) return true;
  try {
    await Promise.any(proofs);
    return false;
  } catch (thrown) {
    const faults = (thrown as AggregateError).errors as readonly unknown[];
    const missing = faults.find((fault) => fault instanceof UpstreamError && fault.code === "NOT_FOUND");
    if (missing) throw missing;
    return faults.some((fault) => fault instanceof NotShown);
  }
}

class NotShown extends Error {}

const NO_WISH: Wish = { keys: [], early: [] };

/** Resolves a reference of a record to the thing it names; whatever fails there is told with the reference. */
export async function resolveReference<R extends object, At extends Address>(
  kind: Kind<R, At>,
  reference: string,
  context: Context,
  info: GraphQLResolveInfo,
): Promise<Handle<R, At>> {
  const thing = refer(kind, reference);
  if (thing) return prefetch(thing, context, info);
  throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's reference cannot be read.", { reference });
}

/** Executors keep one array of field nodes for all items of a list: a selection is worked out once for each place. */
const wishes = new WeakMap<readonly FieldNode[], Map<string, Wish>>();

function wishOf(info: GraphQLResolveInfo, typeName: string): Wish {
  const byType = wishes.get(info.fieldNodes) ?? new Map<string, Wish>();
  wishes.set(info.fieldNodes, byType);
  const known = byType.get(typeName);
  if (known) return known;
  const wish: Wish = { keys: [], early: [] };
  const type = info.schema.getType(typeName);
  if (isObjectType(type)) {
    const seen = new Set<string>();
    for (const { selectionSet } of info.fieldNodes) {
      if (selectionSet) collect(selectionSet, type, info, wish, seen);
    }
  }
  byType.set(typeName, wish);
  return wish;
}

/** Each fragment is walked once, as the executor does it: spreads that double at every step must cost no time. */
function collect(
  set: SelectionSetNode,
  type: GraphQLObjectType,
  info: GraphQLResolveInfo,
  wish: Wish,
  seen: Set<string>,
): void {
  for (const node of set.selections) {
    if (isLeftOut(node, info)) continue;
    if (node.kind === Syntax.FIELD) {
      addField(node, type, info, wish);
      continue;
    }
    if (node.kind === Syntax.FRAGMENT_SPREAD) {
      if (seen.has(node.name.value)) continue;
      seen.add(node.name.value);
    }
    const part = node.kind === Syntax.FRAGMENT_SPREAD ? info.fragments[node.name.value] : node;
    const on = part?.typeCondition?.name.value;
    const applies = !on || on === type.name || type.getInterfaces().some(({ name }) => name === on);
    if (part && applies) collect(part.selectionSet, type, info, wish, seen);
  }
}

function addField(node: FieldNode, type: GraphQLObjectType, info: GraphQLResolveInfo, wish: Wish): void {
  const field = type.getFields()[node.name.value];
  // The one who writes `needs` is `fieldsOf`, below one type.
  const needs = field?.extensions["needs"] as Needs | undefined;
  if (!field || !needs) return;
  wish.keys.push(...needs.keys);
  const { start, shows = () => true } = needs;
  if (!start) return;
  // The field was found on the type of the thing, and its arguments were coerced for it.
  const args = getArgumentValues(field, node, info.variableValues) as never;
  wish.early.push({
    start: (thing, context) => start(thing as never, args, context, belowOf([node], info)),
    shows: shows as EarlyRead["shows"],
  });
}
