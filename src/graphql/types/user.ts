import type { FieldExtensions } from "../../engine/field-source.ts";
import { administration, user } from "../../rest/api/kinds.ts";
import type { Session } from "../../rest/session/session.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource, unverified } from "../core/resource.ts";
import { checked } from "../core/ids.ts";
import { readViewer, viewer } from "../core/kinds.ts";
import { projectList } from "./user-list.ts";
import { Entity, User } from "../core/refs.ts";
import {
  administer,
  mutations,
  payloadTitle,
  payloadOf,
  removeUser,
  type AddMutation,
} from "../operations/mutations.ts";

const { property, fromAddress } = fieldsOf(User.kind);

/** Source: service document, "Current user". */
User.implement({
  description: "A user. Only the name is known of users other than the caller.",
  interfaces: [Entity],
  fields: (t) => ({
    username: t.string({
      nullable: false,
      description: "Login name.",
      ...fromAddress(({ address }) => address.username),
    }),
    email: t.string({ description: "E-mail address. Null unless this is the caller.", ...property("email") }),
    isSuperuser: t.boolean({
      description: "Whether the user is a superuser. Null unless this is the caller.",
      ...property("is_superuser"),
    }),
    isViewer: t.boolean({ description: "Whether this is the caller.", ...property("is_viewer") }),
    projects: t.field(projectList("Projects of the user.")),
  }),
});

builder.queryField("viewer", (t) =>
  t.field({
    type: User,
    description: "The caller: the user of the token.",
    resolve: (_, _args, { session }) => {
      const username = session.knownViewer();
      if (username === null) return viewerOf(session);
      // What is read by the name begins side by side with what proves it.
      return unverified(toResource(viewer, { username }, { username, is_viewer: true }));
    },
  }),
);

builder.queryField("user", (t) =>
  t.field({
    type: User,
    description:
      "A user by login name, with the projects that the caller may see. Whether the user exists is not checked: the service has no endpoint for it. Costs no upstream request itself.",
    args: { username: t.arg.string({ required: true, description: "Login name." }) },
    resolve: (_, { username }, { session }) => {
      session.requireToken();
      return toResource(User.kind, checked("username", { username }));
    },
  }),
);

async function viewerOf(session: Session) {
  const details = await readViewer(session);
  return toResource(User.kind, { username: details.username }, details);
}

const LoginInput = builder.inputType("LoginInput", {
  description: "Credentials.",
  fields: (t) => ({
    username: t.string({ required: true, description: "Login name." }),
    password: t.string({ required: true, description: "Password. It is neither logged nor cached." }),
  }),
});

/** Exchanges credentials for a token. The only command that is sent without the caller's token. */
const signIn =
  (endpoint: typeof user.login, description: string): AddMutation =>
  (name) => {
    const type = payloadOf<{ readonly token: string }>(name).implement({
      description: payloadTitle(name),
      fields: (t) => ({
        token: t.exposeString("token", {
          nullable: false,
          description: "Token. Send it as `Authorization: token <token>`.",
        }),
        user: t.field({
          type: User,
          description: "User of the token, read with the new token.",
          resolve: ({ token }, _, { session }) => viewerOf(session.as(token)),
        }),
      }),
    });
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description,
        args: { input: t.arg({ type: LoginInput, required: true, description: "User name and password." }) },
        // Aliases cannot be used to guess passwords.
        extensions: { maxPerOperation: 1 } satisfies FieldExtensions,
        resolve: (_, { input }, context) => {
          context.admitSignIn();
          return context.session.send(endpoint, {}, input);
        },
      }),
    );
  };

mutations({
  login: signIn(
    user.login,
    "Exchanges user name and password for a token. Sends no `Authorization` header and does not change the token of the other fields of the request.",
  ),
  activateUser: administer(administration.activate, "Activates a user."),
  deleteUser: removeUser(
    administration.delete,
    "Deletes a user. Some servers also delete the projects and runs of the user.",
  ),
  grantSuperuser: administer(administration.grant, "Gives a user the superuser role."),
  revokeSuperuser: administer(administration.revoke, "Revokes the superuser role of a user."),
});
