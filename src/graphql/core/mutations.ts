import type { ObjectRef } from "@pothos/core";
import { GatewayError } from "../../errors.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { uncapital } from "../../rest/api/kinds.ts";
import { unusable } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import {
  arg,
  builder,
  computedFrom,
  computedFromOrNull,
  flag,
  objectType,
  type PothosTypes,
  root,
} from "./builder.ts";
import type { Context } from "./context.ts";
import type { ResourceRef } from "./fields.ts";
import { resolveId, idOf, quote, requires, withId } from "./ids.ts";
import { kindsByName } from "./kinds.ts";
import {
  type Address,
  fetchMore,
  isLoaded,
  type Kind,
  load,
  nullIfMissing,
  nullIfNotFound,
  type Resource,
  toResource,
} from "./resource.ts";

/*
 * Mutations that send one command for one record. The kind of the record determines the payload type. The payload contains the record,
 * which is read again after the command if more than its address is selected.
 */

type Payload<R extends object, At extends Address> = ObjectRef<PothosTypes, Resource<R, At>>;

const payloads = new Map<string, unknown>();

/** The payload type of a kind: `JobPayload` with the field `job`. */
export function payloadOf<R extends object, At extends Address>(target: ResourceRef<R, At>): Payload<R, At> {
  const { name } = target.kind;
  const type =
    payloads.get(name) ??
    objectType<Resource<R, At>>(`${name}Payload`, "Payload of a command.", (t) => ({
      [uncapital(name)]: t.field(
        computedFromOrNull(target, "The record after the command, or the new one.", (resource) => resource),
      ),
    }));
  payloads.set(name, type);
  // Safe: each payload type belongs to the kind with its name.
  return type as Payload<R, At>;
}

export const DeletePayload = builder.objectRef<Resource>("DeletePayload").implement({
  description: "Payload of a command that deletes.",
  fields: (t) => ({
    deletedId: t.field(computedFrom("ID", "Global id of the deleted object.", idOf)),
  }),
});

/**
 * Resolves the target of a command. If the name contains more than the address, the record is read first. The service finds an experiment
 * by its own number alone, so without this read a wrong number of the group would go unnoticed, and the command could reach another run
 * than intended. Throws `InputError`.
 */
export async function targetOf<R extends object, At extends Address>(
  kind: Kind<R, At>,
  id: string,
  { session }: Pick<Context, "session">,
  argument = "id",
): Promise<Resource<R, At>> {
  const named = resolveId(kind, argument, id);
  if (isNamedInFull(named)) await load(named, ["unique_name"], session);
  return toResource(kind, named.address);
}

/** Whether the record must be read to verify the name that the caller gave. */
export const isNamedInFull = ({ kind }: Resource): boolean =>
  kind.verifiedBy === "record" && kindsByName.get(kind.name)?.verifiedBy === "parts";

/**
 * Sends a command for a record. Servers also respond with 404 if only a bookmark is missing, which is not an error if the record exists.
 */
export function sendFor<R extends object, At extends Address, Answer>(
  source: Resource<R, At>,
  endpoint: Command<At, Answer>,
  { session }: Pick<Context, "session">,
): Promise<Answer | null> {
  const sending = session.send(endpoint, source.address, undefined);
  if (!endpoint.undoes) return sending;
  return nullIfMissing(source, sending, session).catch(() => sending);
}

interface Row<R extends object, At extends Address, Answer> {
  readonly target: ResourceRef<R, At>;
  readonly description: string;
  /** The payload type; by default the payload type of the kind. */
  readonly type?: typeof DeletePayload;
  /** Returns the resource of the payload; by default the resource of the command. */
  readonly resultOf?: (source: Resource<R, At>, answer: Answer) => Resource<R, At>;
}

/** Adds a mutation without input, unless the kind lacks the endpoint. */
export function command<R extends object, At extends Address, Answer>(
  name: string,
  endpoint: Command<At, Answer> | undefined,
  { target, description, type = payloadOf(target), resultOf = (source) => source }: Row<R, At, Answer>,
): void {
  if (!endpoint) return;
  root.mutation(name, {
    // Safe: each payload is created from a resource.
    type: type as Payload<R, At>,
    description: description + requires(endpoint),
    args: withId(target),
    resolve: async (_, { id }, context) => {
      const source = await targetOf(target.kind, id, context);
      // Safe: the response is null only if a bookmark is missing, and commands for bookmarks have no response.
      return resultOf(source, (await sendFor(source, endpoint, context)) as Answer);
    },
  });
}

/** The resource of a new record that the service has returned. It lacks some keys, which are read when they are selected. */
export const cloned = <R extends { readonly id: number }>(
  { kind, address }: Resource<R, RunAddress>,
  record: R,
): Resource<R, RunAddress> => toResource(kind, { ...address, id: `${record.id}` }, record);

/**
 * Reads the selected keys of a record before a command that hides the record. The record is not read again after the command. If the read
 * fails, resolves with the unchanged resource: the command itself then shows the failure.
 */
export async function readBefore<R extends object, At extends Address>(
  source: Resource<R, At>,
  keys: readonly string[],
  { session }: Pick<Context, "session">,
): Promise<Resource<R, At>> {
  if (isLoaded(source, keys, session.server)) return source;
  // Other operations may have read the record before its last change.
  session.endSharing();
  try {
    const loaded = await load(source, keys, session);
    return { ...source, loaded, kind: { ...source.kind, fetch: () => Promise.resolve({}) } };
  } catch (error) {
    if (error instanceof GatewayError) return source;
    throw error;
  }
}

export const ifUuidArg = {
  ifUuid: arg.string({
    description:
      "`uuid` of the record that is meant. It is read first; if it has another one, the error is `CONFLICT` and nothing is sent.",
  }),
};

/** Reads the `uuid` of a record before a command. Rejects with `CONFLICT` if it differs. */
export async function requireUuid(
  source: Resource<Pick<RunnableRecord, "uuid">>,
  expected: string,
  { session }: Pick<Context, "session">,
): Promise<void> {
  // Cached responses of other operations may belong to an earlier record with the same name.
  session.endSharing();
  const { uuid } = await load(source, ["uuid"], session);
  if (uuid == null) throw unusable("uuid");
  if (uuid === expected) return;
  const [given, name] = [quote(expected), source.kind.formatReference(source.address)];
  throw new GatewayError("CONFLICT", `ifUuid: expected ${quote(uuid)}, the uuid of ${name}, got ${given}`);
}

/**
 * A record after a command that hides it, or that makes it visible again only after some time. Values that the service does not find are
 * null.
 */
export function hidden<R extends object, At extends Address>(
  { kind, address, loaded }: Resource<R, At>,
  known: Partial<R>,
): Resource<R, At> {
  const fetch: typeof kind.fetch = (...given) =>
    kind.fetch(...given).catch((error: unknown) => nullIfNotFound(error) ?? {});
  return toResource({ ...kind, mayBeHidden: true, fetch }, address, { ...loaded, ...known });
}

/**
 * Loads keys of a record after a command that hides it. Resolves with null if the service does not find the record, because some of its
 * fields cannot be null.
 */
export async function ifShown<R extends object, At extends Address>(
  source: Resource<R, At>,
  known: Partial<R>,
  keys: readonly string[],
  { session }: Pick<Context, "session">,
): Promise<Resource<R, At> | null> {
  const now = hidden(source, known);
  if (isLoaded(now, keys, session.server)) return now;
  const more = await fetchMore(now, keys, session, false);
  const unread = toResource(source.kind, source.address, known);
  return more === now || sizeOf(more) > sizeOf(unread) ? more : null;
}

const sizeOf = ({ loaded }: Resource): number => Object.keys(loaded).length;

/* The effects of repeating a command. */
export const REPEATABLE = "Repeating it has no effect.";
export const MAKES_ANOTHER = "Repeating it makes another run.";
export const GONE = "Repeating it fails with `NOT_FOUND`.";

export const ARCHIVES =
  "Archived records are hidden from lists. The server may stop them, and delete them after some days. The payload has the selected fields of the record as they were before; values that the service no longer returns are null.";

export const bookmarkArg = { isBookmarked: flag(true, "Set to false to remove the bookmark.") };

export const archiveArg = { isArchived: flag(true, "Set to false to restore.") };
