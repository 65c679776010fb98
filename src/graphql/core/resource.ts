import type { Get } from "../../rest/api/endpoint.ts";
import { UpstreamError } from "../../errors.ts";
import type { Page } from "../../rest/api/page.ts";
import type { StatusRecord } from "../../rest/api/records.ts";
import type { Session } from "../../rest/session/session.ts";

/** What names a resource towards the service: the parameters of its path. */
export type Address = Readonly<Record<string, string>>;

/**
 * A kind of resource, as shared code needs to know it. Methods, not properties, where `At` is taken: a resource keeps
 * an address and its kind together, so code that holds a resource of any kind may pass one to the other.
 */
export interface Kind<out R extends object = object, At extends Address = Address> {
  readonly name: string;
  /** The root field that finds one by `id:`; null where there is none. */
  readonly rootField: string | null;
  /** A name as the service writes it, for descriptions and messages; null where it names none. */
  readonly exampleName: string | null;
  /** The field that holds its name, a federation key beside `id`; null where it has none. */
  readonly nameField: "uniqueName" | "username" | "name" | null;
  /** Whether it is a run of a project, which `run(id:)` finds. */
  readonly isRun: boolean;
  /** Whether the service has an endpoint that shows that one exists. */
  readonly isReadable: boolean;
  /** The parameters of its address, in the order of the global id. */
  readonly parameters: readonly string[];
  /** Reads a dotted name, or a name as other records write it. Null when it is none of this kind. */
  parseName(text: string): At | null;
  /** A dotted name that can be shown when no record tells the service's own. */
  formatName(address: At): string;
  /** Keys of the record that the address tells; `reference` is the service's own name of it, if that led to it. */
  fromAddress(address: At, reference: string | null): Partial<R>;
  /**
   * Reads one step further than what is loaded, towards these keys. Most kinds have one step, the whole record;
   * a step may bring less than was asked for, then the next one brings the rest.
   */
  fetch(resource: Resource<R, At>, keys: readonly PropertyKey[], session: Session): Promise<Partial<R>>;
  /** The status history; null for what does not run. */
  readonly statuses: Get<At, Page<StatusRecord>> | null;
  /** The log; null where the service has none. */
  readonly logs: Get<At, undefined> | null;
  /** The output files; null where the service has none. */
  readonly outputs: Get<At, undefined> | null;
}

/**
 * A record of the service by its address, with as much of it as is loaded. References, list items, reduced records and
 * whole records differ only in what is loaded. Absent is not null: an absent key is still to be fetched.
 */
export interface Resource<out R extends object = object, At extends Address = Address> {
  readonly kind: Kind<R, At>;
  readonly address: At;
  readonly loaded: Partial<R>;
  /** The name by which a record of the service refers to it; null when something else led here. Its errors tell it. */
  readonly reference: string | null;
  /** Whether only a caller says that it exists: then a read has to show it. */
  readonly isUnverified: boolean;
}

export const toResource = <R extends object, At extends Address>(
  kind: Kind<R, At>,
  address: At,
  loaded: Partial<R> = {},
): Resource<R, At> => ({
  kind,
  address,
  loaded: { ...kind.fromAddress(address, null), ...loaded },
  reference: null,
  isUnverified: false,
});

/** A resource that only a caller named: it is null with an error where the service does not have it. */
export const unverified = <R extends object, At extends Address>(
  resource: Resource<R, At>,
): Resource<R, At> => ({ ...resource, isUnverified: true });

/**
 * The resource that a record of the service refers to; null when the text is no name of this kind. Only for what the
 * service wrote: its text is taken for the resource's name.
 */
export function resolveReference<R extends object, At extends Address>(
  kind: Kind<R, At>,
  reference: string,
): Resource<R, At> {
  const address = kind.parseName(reference);
  if (!address) {
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's reference cannot be read.", {
      reference,
    });
  }
  return { ...toResource(kind, address), loaded: kind.fromAddress(address, reference), reference };
}

export const isLoaded = ({ loaded }: { readonly loaded: object }, keys: readonly PropertyKey[]): boolean =>
  keys.every((key) => key in loaded);

/** The resource with one more step of its record, towards these keys; what was loaded before stays as it was. */
export async function fetchMore<R extends object, At extends Address>(
  resource: Resource<R, At>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Resource<R, At>> {
  const { kind, loaded, reference } = resource;
  try {
    const more = await kind.fetch(resource, keys, session);
    return { ...resource, loaded: withLoaded(more, loaded) };
  } catch (fault) {
    throw fault instanceof UpstreamError && reference !== null ? fault.of(reference) : fault;
  }
}

/** A record with what was loaded before. Mostly it says the same: then nothing is copied. */
function withLoaded<R extends object>(more: Partial<R>, loaded: Partial<R>): Partial<R> {
  for (const key in loaded) if (!(key in more) || more[key] !== loaded[key]) return { ...more, ...loaded };
  return more;
}

/** The record with these keys, fetched as far as they need it. A key that the whole record lacks stays absent. */
export function load<R extends object, At extends Address>(
  resource: Resource<R, At>,
  keys: readonly PropertyKey[],
  session: Session,
): Partial<R> | Promise<Partial<R>> {
  return isLoaded(resource, keys) ? resource.loaded : fetchUntilLoaded(resource, keys, session);
}

async function fetchUntilLoaded<R extends object, At extends Address>(
  resource: Resource<R, At>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Partial<R>> {
  const further = await fetchMore(resource, keys, session);
  const gained = Object.keys(further.loaded).length > Object.keys(resource.loaded).length;
  return gained && !isLoaded(further, keys) ? fetchUntilLoaded(further, keys, session) : further.loaded;
}
