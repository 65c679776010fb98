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
 * Mutations that send one command for one record. The payload contains the record. If more than its address is selected, the record is read
 * again after the command.
 */

type Payload<R extends object, At extends Address> = ObjectRef<PothosTypes, Resource<R, At>>;

const payloads = new Map<string, unknown>();

/** Returns the payload type of a kind: `JobPayload` with the field `job`. */
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
 * Resolves the target of a command. Throws `InputError` for an invalid id. If the name contains the number of a group, first verifies the
 * name by reading the record. The service ignores this number, so a command with a wrong number could reach a run that was not meant.
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

/** Whether the name from the caller contains more than the address, so that only the record can verify it. */
export const isNamedInFull = ({ kind }: Resource): boolean =>
  kind.verifiedBy === "record" && kindsByName.get(kind.name)?.verifiedBy === "parts";

/**
 * Sends a command for a record. A 404 to a command that removes a bookmark may only mean that there is no bookmark. Then resolves with null
 * if the record exists.
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
  /** Defaults to the payload type of the kind. */
  readonly type?: typeof DeletePayload;
  /** Returns the resource in the payload. Defaults to the target of the command. */
  readonly resultOf?: (source: Resource<R, At>, answer: Answer) => Resource<R, At>;
}

/** Adds a mutation without input. Does nothing if the kind lacks the endpoint. */
export function command<R extends object, At extends Address, Answer>(
  name: string,
  endpoint: Command<At, Answer> | undefined,
  { target, description, type = payloadOf(target), resultOf = (source) => source }: Row<R, At, Answer>,
): void {
  if (!endpoint) return;
  root.mutation(name, {
    // Safe: `DeletePayload` accepts any resource.
    type: type as Payload<R, At>,
    description: description + requires(endpoint),
    args: withId(target),
    resolve: async (_, { id }, context) => {
      const source = await targetOf(target.kind, id, context);
      // Safe: `sendFor` returns null only for commands that remove a bookmark. They have no response and no `resultOf`.
      return resultOf(source, (await sendFor(source, endpoint, context)) as Answer);
    },
  });
}

/**
 * Returns the resource of a new run from the response of a command. The response lacks some keys, which are read when they are selected.
 */
export const cloned = <R extends { readonly id: number }>(
  { kind, address }: Resource<R, RunAddress>,
  record: R,
): Resource<R, RunAddress> => toResource(kind, { ...address, id: `${record.id}` }, record);

/**
 * Reads the selected keys of a record before a command that hides it, and prevents later reads of the record. If the read fails, resolves
 * with the unchanged resource, because the command then usually fails with the same error.
 */
export async function readBefore<R extends object, At extends Address>(
  source: Resource<R, At>,
  keys: readonly string[],
  { session }: Pick<Context, "session">,
): Promise<Resource<R, At>> {
  if (isLoaded(source, keys, session.server)) return source;
  // A shared response of another operation may be older than the last change of the record.
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

/** Reads the `uuid` of a record. Rejects with `CONFLICT` unless it equals `expected`. */
export async function requireUuid(
  source: Resource<Pick<RunnableRecord, "uuid">>,
  expected: string,
  { session }: Pick<Context, "session">,
): Promise<void> {
  // A shared response of another operation may belong to an earlier record with the same name.
  session.endSharing();
  const { uuid } = await load(source, ["uuid"], session);
  if (uuid == null) throw unusable("uuid");
  if (uuid === expected) return;
  const [given, name] = [quote(expected), source.kind.formatReference(source.address)];
  throw new GatewayError("CONFLICT", `ifUuid: expected ${quote(uuid)}, the uuid of ${name}, got ${given}`);
}

/**
 * Returns the resource of a record that the service may hide after a command. Values that the service does not find are then null, without
 * an error.
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
 * Loads keys of a record that the service may hide after a command. Resolves with null if the service does not find the record, because
 * some fields of the record cannot be null.
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

/* Sentences in descriptions about repeating a command. */
export const REPEATABLE = "Repeating it has no effect.";
export const MAKES_ANOTHER = "Repeating it makes another run.";
export const GONE = "Repeating it fails with `NOT_FOUND`.";

export const ARCHIVES =
  "Archived records are hidden from lists. The server may stop them, and delete them after some days. The payload has the selected fields of the record as they were before; values that the service no longer returns are null.";

export const bookmarkArg = { isBookmarked: flag(true, "Set to false to remove the bookmark.") };

export const archiveArg = { isArchived: flag(true, "Set to false to restore.") };
