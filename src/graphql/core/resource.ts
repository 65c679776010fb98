import type { Get } from "../../rest/api/endpoint.ts";
import type { RunKind } from "../../rest/api/kinds.ts";
import { GatewayError, isGatewayError } from "../../errors.ts";
import type { Page } from "../../rest/api/reader.ts";
import type { OutputFolderRecord, StatusRecord } from "../../rest/api/records.ts";
import { MAX_REFERENCE_LENGTH, type RunAddress } from "../../rest/api/reference.ts";
import type { Server } from "../../rest/api/server.ts";
import type { Session } from "../../rest/session/session.ts";

/** The path parameters that address a resource in the service. */
export type Address = Readonly<Record<string, string>>;

/**
 * A kind of resource: all that shared code needs to know about it. Members that take `At` are methods, which are
 * bivariant, so that code with a resource of any kind can pass its address to its kind.
 */
export interface Kind<out R extends object = object, At extends Address = Address> {
  readonly name: string;
  /** An example name for descriptions and messages; null for kinds without names. */
  readonly exampleName: string | null;
  /** The field with its name, which is a federation key besides `id`; null without one. */
  readonly nameField: "uniqueName" | "username" | "name" | null;
  /** Its row as a kind of run, which `run(id:)` finds. */
  readonly run?: RunKind;
  /** Whether the service may hide the record: what it does not find of it is null, without an error. */
  readonly mayBeHidden?: boolean;
  /** The name of its records in profiles; absent for kinds whose records are the same on all servers. */
  readonly record?: string;
  /**
   * The reads that verify that one exists: of its record, or also those below it (`parts`). Null where not every server has an
   * endpoint for it.
   */
  readonly verifiedBy: "record" | "parts" | null;
  /** The names of its path parameters, in the order of the global id. */
  readonly parameters: readonly string[];
  /** Parses a dotted name, or a name in other records. Returns null when it is not one of this kind. */
  parseName(text: string): At | null;
  /** Formats a dotted name, for when the service's own is not loaded. */
  formatName(address: At): string;
  /** Formats the name with the kind in it, which no other kind can have: `ada.mnist.experiments.42`. */
  formatReference(address: At): string;
  /** Keys of the record that follow from the address and from `reference`, the service's own name of it, if known. */
  fromAddress(address: At, reference: string | null): Partial<R>;
  /**
   * Fetches the next part of the record, to load these keys. For most kinds it is the whole record; a part may lack
   * requested keys, which the next fetch returns.
   */
  fetch(resource: Resource<R, At>, keys: readonly PropertyKey[], session: Session): Promise<Partial<R>>;
  /** The status history, of kinds that run. */
  readonly statuses?: Get<At, Page<StatusRecord>> | undefined;
  readonly logs?: Get<At, undefined> | undefined;
  /** The output files as an archive. */
  readonly outputs?: Get<At, undefined> | undefined;
  /** A folder of them, and one of them. */
  readonly outputFolder?: Get<At, OutputFolderRecord> | undefined;
  readonly files?: Get<At, undefined> | undefined;
}

/**
 * A record of the service: its address, and the part of it that is loaded. References, list items, reduced records and
 * whole records differ only in that part. A null value is known; an absent key is not loaded yet.
 */
export interface Resource<out R extends object = object, At extends Address = Address> {
  readonly kind: Kind<R, At>;
  readonly address: At;
  readonly loaded: Partial<R>;
  /** The reference in another record that led to it, for its errors; null without one. */
  readonly reference: string | null;
  /** The group in whose list it stands; null elsewhere. */
  readonly listedIn: RunAddress | null;
  /** Whether a caller named it, so that a read must verify that it exists. */
  readonly needsVerification: boolean;
}

export const toResource = <R extends object, At extends Address>(
  kind: Kind<R, At>,
  address: At,
  loaded: Partial<R> = {},
  listedIn: RunAddress | null = null,
): Resource<R, At> => ({
  kind,
  address,
  loaded: withDefaults(loaded, kind.fromAddress(address, null)),
  reference: null,
  listedIn,
  needsVerification: false,
});

/** Marks a resource that a caller named. It is null with an error when the service does not have it. */
export const requireVerification = <Of extends Resource>(resource: Of): Of => ({
  ...resource,
  needsVerification: true,
});

/** Characters of a reference that an error shows. */
const SHOWN_REFERENCE_LENGTH = 60;

/**
 * Resolves a reference in a record of the service. The reference becomes the resource's name, so it must not come from a
 * caller. Throws `GatewayError` when it is not a name of this kind.
 */
export function resolveReference<R extends object, At extends Address>(
  kind: Kind<R, At>,
  reference: string,
): Resource<R, At> {
  const address = reference.length > MAX_REFERENCE_LENGTH ? null : kind.parseName(reference);
  if (!address)
    throw new GatewayError("UPSTREAM_BAD_RESPONSE", "The service's reference cannot be read.", {
      reference: reference.slice(0, SHOWN_REFERENCE_LENGTH),
    });
  const loaded = kind.fromAddress(address, reference);
  return { kind, address, loaded, reference, listedIn: null, needsVerification: false };
}

/** Whether these keys need no fetch: they are loaded, or no record of this server has them. */
export function isLoaded(
  { kind: { record }, loaded }: Pick<Resource, "kind" | "loaded">,
  keys: readonly PropertyKey[],
  server: Server,
): boolean {
  for (const key of keys) if (!(key in loaded) && !(record && server.omits(record, key))) return false;
  return true;
}

/** Adds keys that are missing. Copies nothing when none is. */
function withDefaults<R extends object>(loaded: Partial<R>, defaults: Partial<R>): Partial<R> {
  for (const key in defaults) if (!(key in loaded)) return { ...defaults, ...loaded };
  return loaded;
}

/**
 * Fetches the next part of the record, to load these keys. Keys that are already loaded keep their values. The result is
 * verified: the service has sent it. Otherwise, unless `isVerified` demands that or the service does not have it, the result is the
 * resource as it is: its fields load the record again and share the failure.
 */
export const fetchMore = <R extends object, At extends Address>(
  resource: Resource<R, At>,
  keys: readonly PropertyKey[],
  session: Session,
  mustVerify = true,
): Promise<Resource<R, At>> =>
  resource.kind.fetch(resource, keys, session).then(
    (more) => {
      const { kind, address, loaded, reference, listedIn } = resource;
      return {
        kind,
        address,
        loaded: withLoaded(more, loaded),
        reference,
        listedIn,
        needsVerification: false,
      };
    },
    (error: unknown) => {
      if (!mustVerify && error instanceof GatewayError && error.code !== "NOT_FOUND") return resource;
      const { reference } = resource;
      throw error instanceof GatewayError && reference !== null ? error.of(reference) : error;
    },
  );

/**
 * Resolves a read of something that a resource may lack, such as its log: null when that is not found. Rejects when the
 * resource itself is not found.
 */
export const nullIfMissing = <Part>(resource: Resource, read: Promise<Part>, session: Session) =>
  read.catch(async (error: unknown) => {
    nullIfNotFound(error);
    // The part is missing, or the record is; reading the record shows which.
    await fetchMore(resource, [], session);
    return null;
  });

export function nullIfNotFound(error: unknown): null {
  if (isGatewayError(error, "NOT_FOUND")) return null;
  throw error;
}

/** Merges a fetched record with the loaded keys. Copies nothing in the usual case that the values are equal. */
function withLoaded<R extends object>(more: Partial<R>, loaded: Partial<R>): Partial<R> {
  for (const key in loaded) if (!(key in more) || more[key] !== loaded[key]) return { ...more, ...loaded };
  return more;
}

/** Fetches the record until these keys are loaded. Keys that the whole record lacks stay absent. */
export async function load<R extends object>(
  resource: Resource<R>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Partial<R>> {
  const further = await fetchMore(resource, keys, session);
  const gained = Object.keys(further.loaded).length > Object.keys(resource.loaded).length;
  return gained && !isLoaded(further, keys, session.server) ? load(further, keys, session) : further.loaded;
}
