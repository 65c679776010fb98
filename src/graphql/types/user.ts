import type { FieldExtensions } from "../../engine/field-source.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { administration, user } from "../../rest/api/kinds.ts";
import { project } from "../../rest/api/project.ts";
import type { Session } from "../../rest/session/session.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf, shown } from "../core/fields.ts";
import { toResource, unverified } from "../core/resource.ts";
import { checked, requires } from "../core/ids.ts";
import { readViewer, type UserAddress, viewer } from "../core/kinds.ts";
import { projectArgs, ProjectConnection, projectList, readProjects } from "./user-list.ts";
import { Entity, User } from "../core/refs.ts";
import { DeletePayload, payloadOf } from "../core/mutations.ts";

const { property, fromAddress } = fieldsOf(User.kind);

/** Source: service document, "Current user". */
User.implement({
  description: "A user. Details are known of the caller only, and null for others.",
  interfaces: [Entity],
  fields: (t) => ({
    username: t.string({
      nullable: false,
      description: "Login name.",
      ...fromAddress(({ address }) => address.username),
    }),
    email: t.string(property("email", "E-mail address.")),
    isSuperuser: t.boolean(property("is_superuser", "Whether the user is a superuser.")),
    projects: t.field(projectList("Projects of the user that the caller may see.")),
  }),
});

builder.queryFields((t) => ({
  viewer: t.field({
    type: User,
    description: "The caller: the user of the token.",
    resolve: (_, _args, { session }) => {
      const username = session.knownViewer();
      if (username === null) return viewerOf(session);
      // What is read by the name begins side by side with what proves it.
      return unverified(toResource(viewer, { username }, { username, is_viewer: true }));
    },
  }),
  user: t.field({
    type: User,
    description: "A user by login name, whose existence is not checked.",
    args: { username: t.arg.string({ required: true, description: "Login name." }) },
    resolve: (_, { username }, { session }) => {
      session.requireToken();
      return toResource(User.kind, checked("username", { username }));
    },
  }),
  projects: t.field({
    type: ProjectConnection,
    description: `Projects of an owner that the caller may see.${requires(project.optional.list)}`,
    args: {
      owner: t.arg.string({ description: "Login name. Default: the caller." }),
      ...projectArgs,
    },
    resolve: async (_, { owner, ...args }, context) => {
      const { session } = context;
      session.requireToken();
      session.server.offered(project.optional.list);
      const name = owner ?? (await readViewer(session)).username;
      return readProjects(checked("owner", { owner: name }).owner, args, context);
    },
  }),
}));

async function viewerOf(session: Session) {
  const details = await readViewer(session);
  return toResource(User.kind, { username: details.username }, details);
}

const LoginInput = builder.inputType("LoginInput", {
  description: "Credentials.",
  fields: (t) => ({
    username: t.string({ required: true, description: "Login name." }),
    password: t.string({ required: true, description: "Password. Neither logged nor kept." }),
  }),
});

const LoginPayload = builder.objectRef<{ readonly token: string }>("LoginPayload").implement({
  description: "Payload of `login`.",
  fields: (t) => ({
    token: t.string(shown("token", "Token. Send it as `Authorization: token <token>`.")),
    user: t.field({
      type: User,
      description: "User of the token.",
      resolve: ({ token }, _, { session }) => viewerOf(session.as(token)),
    }),
  }),
});

const ActivateUserPayload = builder.objectRef<typeof User.$inferType>("ActivateUserPayload").implement({
  description: "Payload of `activateUser`.",
  fields: (t) => ({
    user: t.field({ type: User, nullable: false, description: "The user.", resolve: (of) => of }),
    isActive: t.boolean({ nullable: false, description: "Always true.", resolve: () => true }),
  }),
});

const UserPayload = payloadOf(User);

builder.mutationField("login", (t) =>
  t.field({
    type: LoginPayload,
    description: "Exchanges user name and password for a token, which later requests send.",
    args: { input: t.arg({ type: LoginInput, required: true, description: "Credentials." }) },
    // Aliases cannot be used to guess passwords.
    extensions: { maxPerOperation: 1 } satisfies FieldExtensions,
    resolve: (_, { input }, { session }) => session.send(user.login, {}, input),
  }),
);

/** Adds a mutation of a user, of whom the command makes something known. */
const administer = (
  name: string,
  endpoint: Command<UserAddress, undefined>,
  type: typeof UserPayload | typeof DeletePayload,
  description: string,
  known: { readonly is_superuser?: boolean } = {},
) =>
  builder.mutationField(name, (t) =>
    t.field({
      // Safe: each payload is made of a resource.
      type: type as typeof UserPayload,
      description,
      args: { username: t.arg.string({ required: true, description: "Login name." }) },
      resolve: async (_, { username }, { session }) => {
        const address = checked("username", { username });
        await session.send(endpoint, address, undefined);
        return toResource(User.kind, address, known);
      },
    }),
  );

const { activate, delete: discard, grant, revoke } = administration;
administer("activateUser", activate, ActivateUserPayload, "Activates a user.");
administer(
  "deleteUser",
  discard,
  DeletePayload,
  "Deletes a user; on some servers with all projects and runs.",
);
administer("grantSuperuser", grant, UserPayload, "Gives a user the superuser role.", { is_superuser: true });
administer("revokeSuperuser", revoke, UserPayload, "Takes the superuser role from a user.", {
  is_superuser: false,
});
