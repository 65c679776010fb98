import type { ObjectRef } from "@pothos/core";
import type { Command } from "../../rest/api/endpoint.ts";
import { capital, uncapital } from "../../rest/api/kind.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import type { ResourceRef } from "../core/fields.ts";
import { type Address, type Resource, toResource } from "../core/resource.ts";
import { checked, idOf, requires, withId } from "../core/ids.ts";
import { type UserAddress, kinds } from "../core/kinds.ts";
import { Project, Run, User } from "../core/refs.ts";
import { targetOf } from "./named-run.ts";

/*
 * Mutations of runs and users. Each function here creates a mutation that sends one command to the service. The slice
 * names it, and the payload type is named after it.
 */

/** Adds a mutation with this name. */
export type AddMutation = (name: string) => void;

/** Adds mutations by name: `mutations({ stopJob: act(Job, runs.job.endpoints.stop, "…") })`. */
export function mutations(byName: Readonly<Record<string, AddMutation>>): void {
  for (const [name, add] of Object.entries(byName)) add(name);
}

/** `StopJobPayload` for `stopJob`. */
export const payloadOf = <Shape>(mutation: string) => builder.objectRef<Shape>(`${capital(mutation)}Payload`);

export const payloadTitle = (mutation: string) => `Payload of \`${mutation}\`.`;

export interface CommandResult<R extends object, At extends Address = RunAddress> {
  /** The resource that the command was sent to. */
  readonly source: Resource<R, At>;
  /** The same resource, or a clone of it. It is read again after the command when more than its address is selected. */
  readonly result: Resource<R, At>;
}

/** The description of a record that a command changed. */
export const AFTER_CHANGE = "The record after the change. Read only if more than its address is selected.";

/** What payloads of commands on a run have in common, whatever its kind. */
export const RunPayload = builder.interfaceRef<Pick<CommandResult<object, Address>, "result">>("RunPayload");
RunPayload.implement({
  description: "Payload of a command on a run of any kind.",
  fields: (t) => ({
    run: t.field({
      type: Run,
      description: AFTER_CHANGE,
      // Safe: such payloads have runs.
      resolve: ({ result }) => result as typeof Run.$inferType,
    }),
  }),
});

/** What payloads of mutations that delete a run have in common. */
export const DeletedRun = builder.interfaceRef<Pick<CommandResult<object>, "result">>("DeletedRun");
DeletedRun.implement({
  description: "Payload of a mutation that deletes a run of any kind.",
  fields: (t) => ({
    deletedId: t.id({
      nullable: false,
      description: "Global id of the deleted record.",
      resolve: ({ result }) => idOf(result),
    }),
    project: t.field({
      type: Project,
      nullable: false,
      description: "Project that contained it.",
      resolve: ({ result: { address } }) =>
        toResource(kinds.project, { owner: address.owner, project: address.project }),
    }),
  }),
});

/** Creates a payload type with a field for the record. */
export function recordPayload<
  R extends object,
  At extends Address,
  Result extends CommandResult<R, At> = CommandResult<R, At>,
>(mutation: string, target: ResourceRef<R, At>, description: string) {
  return payloadOf<Result>(mutation).implement({
    description: payloadTitle(mutation),
    // Safe: the payload has a result, which Pothos cannot see of a type parameter. The same applies below.
    interfaces: (target.kind.run ? [RunPayload] : []) as never,
    fields: (t) => ({
      [uncapital(target.kind.name)]: t.field({
        type: target,
        description,
        resolve: ({ result }: Result) => result,
      }),
    }),
  });
}

/** A command on a resource without input. `resultOf` returns the affected one; by default the resource itself. */
export const command =
  <R extends object, At extends Address, Answer>(
    target: ResourceRef<R, At>,
    endpoint: Command<At, Answer>,
    description: string,
    payload: (mutation: string) => ObjectRef<PothosTypes, CommandResult<R, At>>,
    resultOf: (source: Resource<R, At>, answer: Answer) => Resource<R, At> = (source) => source,
  ): AddMutation =>
  (name) => {
    const type = payload(name);
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description: description + requires(endpoint),
        args: withId(target),
        resolve: async (_, { id }, context) => {
          const source = await targetOf(target.kind, id, context);
          return {
            source,
            result: resultOf(source, await context.session.send(endpoint, source.address, undefined)),
          };
        },
      }),
    );
  };

/** Sends a command for a record. The record is read again when it is selected. */
export const act = <R extends object, At extends Address>(
  target: ResourceRef<R, At>,
  endpoint: Command<At, undefined>,
  description: string,
): AddMutation =>
  command(target, endpoint, description, (mutation) => recordPayload(mutation, target, AFTER_CHANGE));

/** Deletes a record. */
export const remove = <R extends object>(
  target: ResourceRef<R, RunAddress>,
  endpoint: Command<RunAddress, undefined>,
  description: string,
): AddMutation =>
  command(target, endpoint, description, (mutation) =>
    payloadOf<CommandResult<R>>(mutation).implement({
      description: payloadTitle(mutation),
      interfaces: [DeletedRun] as never,
    }),
  );

/** Creates a payload type for a new record and its source. */
export const clonePayload = <R extends object>(mutation: string, target: ResourceRef<R, RunAddress>) =>
  payloadOf<CommandResult<R>>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      [uncapital(target.kind.name)]: t.field({
        type: target,
        description:
          "The new record. Its `original` is the one that the service names: the source or, if that was resumed itself, possibly the first run of the chain.",
        resolve: ({ result }: CommandResult<R>) => result,
      }),
      source: t.field({
        type: target,
        description: "The record that it was created from. Its id costs no upstream request.",
        resolve: ({ source }: CommandResult<R>) => source,
      }),
    }),
  });

/** The new record that the service returns. It is reduced; other keys are read when selected. */
export const cloned = <R extends { readonly id: number }>(
  { kind, address }: Resource<R, RunAddress>,
  record: R,
): Resource<R, RunAddress> => toResource(kind, { ...address, id: `${record.id}` }, record);

/** Creates a new record from an existing one. */
export const clone = <R extends { readonly id: number }>(
  target: ResourceRef<R, RunAddress>,
  endpoint: Command<RunAddress, R>,
  description: string,
): AddMutation =>
  command(target, endpoint, description, (mutation) => clonePayload(mutation, target), cloned);

const commandOnUser =
  (
    endpoint: Command<UserAddress, undefined>,
    description: string,
    payload: (mutation: string) => ObjectRef<PothosTypes, UserAddress>,
  ): AddMutation =>
  (name) => {
    const type = payload(name);
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description: `${description} Administrative: the service checks the permission.`,
        args: { username: t.arg.string({ required: true, description: "Login name." }) },
        resolve: async (_, { username }, { session }) => {
          const address = checked("username", { username });
          await session.send(endpoint, address, undefined);
          return address;
        },
      }),
    );
  };

/** Changes a user's permissions. */
export const administer = (endpoint: Command<UserAddress, undefined>, description: string): AddMutation =>
  commandOnUser(endpoint, description, (mutation) =>
    payloadOf<UserAddress>(mutation).implement({
      description: payloadTitle(mutation),
      fields: (t) => ({
        user: t.field({
          type: User,
          nullable: false,
          description: "The user. Details are null unless this is the caller.",
          resolve: (address) => toResource(kinds.user, address),
        }),
      }),
    }),
  );

/** Deletes a user. */
export const removeUser = (endpoint: Command<UserAddress, undefined>, description: string): AddMutation =>
  commandOnUser(endpoint, description, (mutation) =>
    payloadOf<UserAddress>(mutation).implement({
      description: payloadTitle(mutation),
      fields: (t) => ({
        deletedId: t.id({
          nullable: false,
          description: "Global id of the deleted user.",
          resolve: (address) => idOf(toResource(kinds.user, address)),
        }),
        deletedUsername: t.exposeString("username", {
          nullable: false,
          description: "Login name of the deleted user.",
        }),
      }),
    }),
  );
