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
 * A kind of resource. Members that take `At` are methods, because parameters of methods are bivariant: code for all kinds can then pass the
 * address of a resource to the kind of the same resource.
 */
export interface Kind<out R extends object = object, At extends Address = Address> {
  readonly name: string;
  /** An example name for descriptions and messages; null for kinds without names. */
  readonly exampleName: string | null;
  /** The field that contains the name and is a federation key, like `id`; null for kinds without names. */
  readonly nameField: "uniqueName" | "username" | "name" | null;
  /** The row in `rest/api/kinds.ts`; absent for kinds that are not kinds of run. */
  readonly run?: RunKind;
  /** Whether the service may hide the record. Values that it does not find are then null without an error. */
  readonly mayBeHidden?: boolean;
  /** The name of the record in profiles; absent if the record is the same on all servers. */
  readonly record?: string;
  /**
   * The reads that verify that a resource exists. `record`: only the read of its record. `parts`: also the reads of its children. Null if
   * not every server can verify that the resource exists.
   */
  readonly verifiedBy: "record" | "parts" | null;
  /** The names of the path parameters, in the order of the global id. */
  readonly parameters: readonly string[];
  /** Parses a dotted name from a caller or from another record. Returns null if the string is not a name of this kind. */
  parseName(text: string): At | null;
  /** Formats a dotted name, for use while the name of the record is not loaded. */
  formatName(address: At): string;
  /** Formats the field `reference`, a name that contains the kind: `ada.mnist.experiments.42`. */
  formatReference(address: At): string;
  /** Returns the record values that follow from the address, and from the name in another record that led to the resource, if any. */
  fromAddress(address: At, reference: string | null): Partial<R>;
  /**
   * Fetches the part of the record that is needed next to load these keys: for most kinds, the whole record. If the part lacks some of the
   * keys, another call fetches the next part.
   */
  fetch(resource: Resource<R, At>, keys: readonly PropertyKey[], session: Session): Promise<Partial<R>>;
  /** The endpoint of the status history; absent for kinds that do not run. */
  readonly statuses?: Get<At, Page<StatusRecord>> | undefined;
  readonly logs?: Get<At, undefined> | undefined;
  /** The output files as an archive. */
  readonly outputs?: Get<At, undefined> | undefined;
  /** `outputFolder`: a folder of the output files. `files`: one of these files. */
  readonly outputFolder?: Get<At, OutputFolderRecord> | undefined;
  readonly files?: Get<At, undefined> | undefined;
}

/**
 * An upstream record: its address and its loaded part, which may be nothing, a list item or the whole record. A key that is absent from
 * `loaded` is not loaded yet; a null value is loaded.
 */
export interface Resource<out R extends object = object, At extends Address = Address> {
  readonly kind: Kind<R, At>;
  readonly address: At;
  readonly loaded: Partial<R>;
  /** The name in another record that led to the resource, for error messages; null if none did. */
  readonly reference: string | null;
  /** The group in whose list the resource was found; null if it was found in no list of a group. */
  readonly listedIn: RunAddress | null;
  /** Whether the caller has named the resource, so that a read must verify that it exists. */
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

/** Marks a resource that the caller has named. A read then verifies that the resource exists; otherwise the field is null with an error. */
export const requireVerification = <Of extends Resource>(resource: Of): Of => ({
  ...resource,
  needsVerification: true,
});

/** Maximum length of a reference in an error, in characters. */
const SHOWN_REFERENCE_LENGTH = 60;

/**
 * Resolves a name in an upstream record. Must not be called with a name from a caller, because the resource takes over the name without
 * verification. Throws `GatewayError` if the string is not a name of this kind.
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

/** Whether each key is loaded, or is a key that this server's records never have. */
export function isLoaded(
  { kind: { record }, loaded }: Pick<Resource, "kind" | "loaded">,
  keys: readonly PropertyKey[],
  server: Server,
): boolean {
  for (const key of keys) if (!(key in loaded) && !(record && server.omits(record, key))) return false;
  return true;
}

/** Adds the defaults of absent keys. Returns `loaded` itself if no key is absent. */
function withDefaults<R extends object>(loaded: Partial<R>, defaults: Partial<R>): Partial<R> {
  for (const key in defaults) if (!(key in loaded)) return { ...defaults, ...loaded };
  return loaded;
}

/**
 * Fetches the next part of the record, which loads some or all of these keys. Loaded keys keep their values. The result needs no
 * verification. Rejects if the service does not find the record. On any other failure, rejects if `mustVerify` is set. Otherwise resolves
 * with the unchanged resource, so that only the fields that need the record fail.
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
 * Handles `NOT_FOUND` of `read`, which reads a part of a resource, such as its log. Resolves with null if the resource exists; otherwise
 * rejects.
 */
export const nullIfMissing = <Part>(resource: Resource, read: Promise<Part>, session: Session) =>
  read.catch(async (error: unknown) => {
    nullIfNotFound(error);
    // The read of the record shows whether only the part is missing.
    await fetchMore(resource, [], session);
    return null;
  });

export function nullIfNotFound(error: unknown): null {
  if (isGatewayError(error, "NOT_FOUND")) return null;
  throw error;
}

/** Merges loaded keys into a fetched record. Returns `more` itself in the usual case that it contains the loaded values. */
function withLoaded<R extends object>(more: Partial<R>, loaded: Partial<R>): Partial<R> {
  for (const key in loaded) if (!(key in more) || more[key] !== loaded[key]) return { ...more, ...loaded };
  return more;
}

/** Loads these keys, by several fetches if needed. Keys that the whole record lacks stay absent. Rejects if a fetch fails. */
export async function load<R extends object>(
  resource: Resource<R>,
  keys: readonly PropertyKey[],
  session: Session,
): Promise<Partial<R>> {
  const further = await fetchMore(resource, keys, session);
  const gained = Object.keys(further.loaded).length > Object.keys(resource.loaded).length;
  return gained && !isLoaded(further, keys, session.server) ? load(further, keys, session) : further.loaded;
}
