import type { ObjectRef } from "@pothos/core";
import type { GraphQLResolveInfo } from "graphql";
import type { Command } from "../../rest/api/endpoint.ts";
import type { Revision } from "../../rest/api/endpoints.ts";
import { InputError } from "../../errors.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import type { Thing } from "../core/fields.ts";
import { type Handle, handle } from "../core/resource.ts";
import { checked, identify, idOf } from "../core/ids.ts";
import { type ByName, kinds } from "../core/kinds.ts";
import { prefetch } from "../core/prefetch.ts";
import { withId } from "../core/look-up.ts";
import { Project, User } from "../core/refs.ts";

/*
 * What can be done to a run or a user. A verb gives the mutation field that does it with one row of the service;
 * a slice gives the field its name, and the payload type is called after it.
 */

/** Adds one mutation under a name. */
export type Verb = (name: string) => void;

/** Adds mutations by their names: `mutations({ stopJob: act(Job, job.stop, "…") })`. */
export function mutations(verbs: Readonly<Record<string, Verb>>): void {
  for (const [name, verb] of Object.entries(verbs)) verb(name);
}

/** `StopJobPayload` for `stopJob`. */
export const payloadOf = <Shape>(mutation: string) =>
  builder.objectRef<Shape>(`${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Payload`);

export const outcomeOf = (mutation: string) => `Outcome of \`${mutation}\`.`;

/** `experiment`, `buildJob`: how a payload calls its record. */
const fieldName = (kind: string) => `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;

/** Hands the record to its selection: read now, after the command, and only when more than its address is selected. */
const readAfterwards =
  <Of, R extends object>(part: (payload: Of) => Handle<R, RunAddress>) =>
  (payload: Of, _: object, context: Context, info: GraphQLResolveInfo) =>
    prefetch(part(payload), context, info);

interface Outcome<R extends object> {
  /** What the command was sent to. */
  readonly source: Handle<R, RunAddress>;
  /** The record that came of it: the same one, or a clone. */
  readonly thing: Handle<R, RunAddress>;
}

/** A payload that holds the record under the name of its kind. */
function recordPayload<R extends object>(
  mutation: string,
  target: Thing<R, RunAddress>,
  description: string,
) {
  return payloadOf<Outcome<R>>(mutation).implement({
    description: outcomeOf(mutation),
    fields: (t) => ({
      [fieldName(target.kind.name)]: t.field({
        type: target,
        description,
        resolve: readAfterwards(({ thing }: Outcome<R>) => thing),
      }),
    }),
  });
}

/** Changes a record; the service answers the whole of it. */
export const update =
  <R extends object>(
    target: Thing<R, RunAddress>,
    row: Command<RunAddress, R, Revision>,
    description: string,
  ): Verb =>
  (name) => {
    const input = builder.inputType(`Update${target.kind.name}Input`, {
      description: "Fields to change; omitted fields stay as they are. At least one is needed.",
      fields: (t) => ({ description: t.string({ description: "New description; null clears it." }) }),
    });
    const type = recordPayload(name, target, "The record after the change.");
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description,
        args: {
          ...withId(target),
          input: t.arg({ type: input, required: true, description: "What to change." }),
        },
        resolve: async (_, { id, input: { description: text } }, { session, names }) => {
          const source = identify(target.kind, "id", id, names);
          if (text === undefined)
            throw new InputError("input: expected at least one field to change, got none");
          const record = await session.send(row, source.at, { description: text });
          return { source, thing: handle(target.kind, source.at, record) };
        },
      }),
    );
  };

/** A command without input on one record; `thingOf` tells what came of it, where that is not the record itself. */
const command =
  <R extends object, Answer>(
    target: Thing<R, RunAddress>,
    row: Command<RunAddress, Answer>,
    description: string,
    payload: (mutation: string) => ObjectRef<PothosTypes, Outcome<R>>,
    thingOf: (source: Handle<R, RunAddress>, answer: Answer) => Handle<R, RunAddress> = (source) => source,
  ): Verb =>
  (name) => {
    const type = payload(name);
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description,
        args: withId(target),
        resolve: async (_, { id }, { session, names }) => {
          const source = identify(target.kind, "id", id, names);
          return { source, thing: thingOf(source, await session.send(row, source.at, undefined)) };
        },
      }),
    );
  };

/** Has the service do something to a record, and reads the record again when it is selected. */
export const act = <R extends object>(
  target: Thing<R, RunAddress>,
  row: Command<RunAddress, undefined>,
  description: string,
): Verb =>
  command(target, row, description, (mutation) =>
    recordPayload(
      mutation,
      target,
      "The record as it stands afterwards; read again only when more than its address is selected.",
    ),
  );

/** Deletes a record. */
export const remove = <R extends object>(
  target: Thing<R, RunAddress>,
  row: Command<RunAddress, undefined>,
  description: string,
): Verb =>
  command(target, row, description, (mutation) =>
    payloadOf<Outcome<R>>(mutation).implement({
      description: outcomeOf(mutation),
      fields: (t) => ({
        deletedId: t.id({
          nullable: false,
          description: "Global id of the deleted record.",
          resolve: ({ thing }, _, { names }) => idOf(thing, names),
        }),
        project: t.field({
          type: Project,
          nullable: false,
          description: "Project it was in.",
          resolve: ({ thing: { at } }) => handle(kinds.project, { owner: at.owner, project: at.project }),
        }),
      }),
    }),
  );

/** Makes a new record from an old one. The service answers a reduced record: what it lacks is read when selected. */
export const clone = <R extends { readonly id: number }>(
  target: Thing<R, RunAddress>,
  row: Command<RunAddress, R>,
  description: string,
): Verb =>
  command(
    target,
    row,
    description,
    (mutation) =>
      payloadOf<Outcome<R>>(mutation).implement({
        description: outcomeOf(mutation),
        fields: (t) => ({
          [fieldName(target.kind.name)]: t.field({
            type: target,
            description:
              "The new record. Its `original` is what the service names: the source, or where that was resumed itself, possibly the first of the chain.",
            resolve: readAfterwards(({ thing }: Outcome<R>) => thing),
          }),
          source: t.field({
            type: target,
            description: "The record it was made from. Its id costs no request.",
            resolve: readAfterwards(({ source }: Outcome<R>) => source),
          }),
        }),
      }),
    ({ at }, record) => handle(target.kind, { ...at, id: `${record.id}` }, record),
  );

const commandOnUser =
  (
    row: Command<ByName, undefined>,
    description: string,
    payload: (mutation: string) => ObjectRef<PothosTypes, ByName>,
  ): Verb =>
  (name) => {
    const type = payload(name);
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description: `${description} Administration: the service decides who may.`,
        args: { username: t.arg.string({ required: true, description: "Login name." }) },
        resolve: async (_, { username }, { session }) => {
          const at = checked("username", { username });
          await session.send(row, at, undefined);
          return at;
        },
      }),
    );
  };

/** Changes what a user may do. */
export const administer = (row: Command<ByName, undefined>, description: string): Verb =>
  commandOnUser(row, description, (mutation) =>
    payloadOf<ByName>(mutation).implement({
      description: outcomeOf(mutation),
      fields: (t) => ({
        user: t.field({
          type: User,
          nullable: false,
          description: "The user: known by name; details only where it is the caller.",
          resolve: (at) => handle(kinds.user, at),
        }),
      }),
    }),
  );

/** Deletes a user. */
export const removeUser = (row: Command<ByName, undefined>, description: string): Verb =>
  commandOnUser(row, description, (mutation) =>
    payloadOf<ByName>(mutation).implement({
      description: outcomeOf(mutation),
      fields: (t) => ({
        deletedId: t.id({
          nullable: false,
          description: "Global id of the deleted user.",
          resolve: (at, _, { names }) => idOf(handle(kinds.user, at), names),
        }),
        deletedUsername: t.exposeString("username", {
          nullable: false,
          description: "Login name of the deleted user.",
        }),
      }),
    }),
  );
