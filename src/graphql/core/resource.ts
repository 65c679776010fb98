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
 * The properties of a kind of resource that shared code needs. Members that take `At` are declared as methods, whose parameters are
 * bivariant, so that code can pass the address of any resource to the kind of that resource.
 */
export interface Kind<out R extends object = object, At extends Address = Address> {
  readonly name: string;
  /** An example name for descriptions and messages; null for kinds without names. */
  readonly exampleName: string | null;
  /** The field with the name of the resource, which is a federation key in addition to `id`; null for kinds without names. */
  readonly nameField: "uniqueName" | "username" | "name" | null;
  /** The row of the kind in the table of runs; absent for other kinds. */
  readonly run?: RunKind;
  /** Whether the service may hide the record. If so, values that the service does not find are null without an error. */
  readonly mayBeHidden?: boolean;
  /** The name of the records in profiles; absent for kinds whose records are the same on all servers. */
  readonly record?: string;
  /**
   * The reads that verify that a resource exists. `record`: only the read of its record. `parts`: also the reads of its children. Null if
   * not every server can verify the resource.
   */
  readonly verifiedBy: "record" | "parts" | null;
  /** The names of the path parameters, in the order of the global id. */
  readonly parameters: readonly string[];
  /** Parses a dotted name, or a name in other records. Returns null when the string is not a name of this kind. */
  parseName(text: string): At | null;
  /** Formats a dotted name. It is used if the name is not loaded from the service. */
  formatName(address: At): string;
  /** Formats the name that contains the kind, so that no other kind can have it: `ada.mnist.experiments.42`. */
  formatReference(address: At): string;
  /** The values of the record that follow from the address and, if known, from `reference`, the name that the service gives the record. */
  fromAddress(address: At, reference: string | null): Partial<R>;
  /**
   * Fetches the next part of the record, in order to load these keys. For most kinds, the part is the whole record. If the part lacks some
   * of the keys, the next fetch returns them.
   */
  fetch(resource: Resource<R, At>, keys: readonly PropertyKey[], session: Session): Promise<Partial<R>>;
  /** The endpoint of the status history; absent for kinds that do not run. */
  readonly statuses?: Get<At, Page<StatusRecord>> | undefined;
  readonly logs?: Get<At, undefined> | undefined;
  /** The output files as an archive. */
  readonly outputs?: Get<At, undefined> | undefined;
  /** A folder of the output files. `files`: a single file. */
  readonly outputFolder?: Get<At, OutputFolderRecord> | undefined;
  readonly files?: Get<At, undefined> | undefined;
}

/**
 * A record of the service: its address, and the loaded part of the record. References, list items, reduced records and whole records differ
 * only in the loaded part. A null value is known; an absent key is not loaded yet.
 */
export interface Resource<out R extends object = object, At extends Address = Address> {
  readonly kind: Kind<R, At>;
  readonly address: At;
  readonly loaded: Partial<R>;
  /** The reference in another record that led to the resource, for error messages; null without such a reference. */
  readonly reference: string | null;
  /** The group in whose list the resource was found; null elsewhere. */
  readonly listedIn: RunAddress | null;
  /** Whether a read must verify that the resource exists, because a caller has named it. */
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

/** Marks a resource that a caller has named, so that a read verifies that it exists. If it does not, the resource is null with an error. */
export const requireVerification = <Of extends Resource>(resource: Of): Of => ({
  ...resource,
  needsVerification: true,
});

/** Maximum characters of a reference in an error. */
const SHOWN_REFERENCE_LENGTH = 60;

/**
 * Resolves a reference in a record of the service. The reference becomes the name of the resource, so it must not come from a caller.
 * Throws `GatewayError` when the reference is not a name of this kind.
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

/** Whether these keys need no fetch: each is loaded, or no record of this server has it. */
export function isLoaded(
  { kind: { record }, loaded }: Pick<Resource, "kind" | "loaded">,
  keys: readonly PropertyKey[],
  server: Server,
): boolean {
  for (const key of keys) if (!(key in loaded) && !(record && server.omits(record, key))) return false;
  return true;
}

/** Adds missing keys. Copies nothing if no key is missing. */
function withDefaults<R extends object>(loaded: Partial<R>, defaults: Partial<R>): Partial<R> {
  for (const key in defaults) if (!(key in loaded)) return { ...defaults, ...loaded };
  return loaded;
}

/**
 * Fetches the next part of the record, in order to load these keys. Keys that are already loaded keep their values. If the fetch succeeds,
 * the result no longer needs verification. If it fails, rejects if `mustVerify` is set or the service does not find the record. On any
 * other failure, resolves with the unchanged resource: its fields then load the record again and share the failure.
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

/** Resolves with null if a read of part of a resource, such as its log, finds nothing. Rejects if the resource itself is not found. */
export const nullIfMissing = <Part>(resource: Resource, read: Promise<Part>, session: Session) =>
  read.catch(async (error: unknown) => {
    nullIfNotFound(error);
    // Reading the record shows whether only the part is missing, or the whole record.
    await fetchMore(resource, [], session);
    return null;
  });

export function nullIfNotFound(error: unknown): null {
  if (isGatewayError(error, "NOT_FOUND")) return null;
  throw error;
}

/** Merges a fetched record with the loaded keys. In the usual case of equal values, copies nothing. */
function withLoaded<R extends object>(more: Partial<R>, loaded: Partial<R>): Partial<R> {
  for (const key in loaded) if (!(key in more) || more[key] !== loaded[key]) return { ...more, ...loaded };
  return more;
}

/** Fetches parts of the record until these keys are loaded. Keys that the whole record lacks stay absent. */
export async function load<R extends object>(
  resource: Resource<R>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Partial<R>> {
  const further = await fetchMore(resource, keys, session);
  const gained = Object.keys(further.loaded).length > Object.keys(resource.loaded).length;
  return gained && !isLoaded(further, keys, session.server) ? load(further, keys, session) : further.loaded;
}
