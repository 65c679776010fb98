import type { Get } from "../../rest/api/endpoint.ts";
import { UpstreamError } from "../../errors.ts";
import type { Page } from "../../rest/api/page.ts";
import type { StatusRecord } from "../../rest/api/records.ts";
import type { Session } from "../../rest/session/session.ts";

/** What names a thing towards the service: the segments of its path. */
export type Address = Readonly<Record<string, string>>;

/**
 * A kind of thing, as shared code needs to know it. Methods, not properties, where `At` is taken: a handle keeps
 * an address and its kind together, so code that holds a handle of any kind may pass one to the other.
 */
export interface Kind<out R extends object = object, At extends Address = Address> {
  readonly name: string;
  /** The root field that finds one by `id:`; null where there is none. */
  readonly lookUp: string | null;
  /** A name as the service writes it, for descriptions and messages; null where it names none. */
  readonly example: string | null;
  /** Whether it is a run of a project, which `run(id:)` finds. */
  readonly isRun: boolean;
  /** Whether the service has an endpoint that shows that one exists. */
  readonly canBeRead: boolean;
  /** The names of the address, in the order of the global id. */
  readonly segments: readonly string[];
  /** Reads a dotted name, or a name as other records write it. Null when it is none of this kind. */
  parse(text: string): At | null;
  /** What the address alone tells, in the words of the record; `reference` is the service's own name of it, if that led to it. */
  known(at: At, reference: string | null): Partial<R>;
  /** A dotted name that can be shown when no record tells the service's own. */
  nameOf(at: At): string;
  /**
   * Reads one step further than what has arrived, towards these keys. Most kinds have one step, the whole record;
   * a step may bring less than was asked for, then the next one brings the rest.
   */
  complete(handle: Handle<R, At>, keys: readonly PropertyKey[], session: Session): Promise<Partial<R>>;
  /** The status history; null for things that do not run. */
  readonly statuses: Get<At, Page<StatusRecord>> | null;
  /** The log; null where the service has none. */
  readonly logs: Get<At, undefined> | null;
  /** The output files; null where the service has none. */
  readonly outputs: Get<At, undefined> | null;
}

/**
 * A thing by its address, and as much of its record as has arrived. References, rows of lists, reduced records and
 * whole records differ only in what has arrived. Absent is not null: an absent key is still to be loaded.
 */
export interface Handle<out R extends object = object, At extends Address = Address> {
  readonly kind: Kind<R, At>;
  readonly at: At;
  readonly arrived: Partial<R>;
  /** The name by which a record of the service refers to it; null when something else led here. Its errors tell it. */
  readonly reference: string | null;
}

export const handle = <R extends object, At extends Address>(
  kind: Kind<R, At>,
  at: At,
  arrived: Partial<R> = {},
): Handle<R, At> => ({ kind, at, arrived: { ...kind.known(at, null), ...arrived }, reference: null });

/**
 * The thing that a record of the service refers to; null when the text is no name of this kind. Only for what the
 * service wrote: its text is taken for the thing's name.
 */
export function refer<R extends object, At extends Address>(
  kind: Kind<R, At>,
  reference: string,
): Handle<R, At> | null {
  const at = kind.parse(reference);
  return at && { kind, at, arrived: kind.known(at, reference), reference };
}

export const has = ({ arrived }: { readonly arrived: object }, keys: readonly PropertyKey[]): boolean =>
  keys.every((key) => key in arrived);

/** The handle with one more step of its record, towards these keys; what had arrived before stays as it was. */
export async function advance<R extends object, At extends Address>(
  thing: Handle<R, At>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Handle<R, At>> {
  const { kind, arrived, reference } = thing;
  try {
    const more = await kind.complete(thing, keys, session);
    return { ...thing, arrived: { ...more, ...arrived } };
  } catch (fault) {
    throw fault instanceof UpstreamError && reference !== null ? fault.of(reference) : fault;
  }
}

/** The record with these keys, loaded as far as they need it. A key that the whole record lacks stays absent. */
export function need<R extends object, At extends Address>(
  thing: Handle<R, At>,
  keys: readonly (keyof R)[],
  session: Session,
): Partial<R> | Promise<Partial<R>> {
  return has(thing, keys) ? thing.arrived : load(thing, keys, session);
}

async function load<R extends object, At extends Address>(
  thing: Handle<R, At>,
  keys: readonly (keyof R)[],
  session: Session,
): Promise<Partial<R>> {
  const further = await advance(thing, keys, session);
  const gained = Object.keys(further.arrived).length > Object.keys(thing.arrived).length;
  return gained && !has(further, keys) ? load(further, keys, session) : further.arrived;
}
