import { administration, user } from "../../rest/api/endpoints.ts";
import type { Session } from "../../rest/session/session.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { readViewer } from "../core/kinds.ts";
import { projectList } from "./run-list.ts";
import { Entity, User } from "../core/refs.ts";
import {
  administer,
  mutations,
  outcomeOf,
  payloadOf,
  removeUser,
  type AddMutation,
} from "../operations/mutations.ts";

const { property, fromAddress } = fieldsOf(User.kind);

/** Source: service document, "Current user". */
User.implement({
  description: "A person. The service tells details of the caller only; of others just the name is known.",
  interfaces: [Entity],
  fields: (t) => ({
    username: t.string({
      nullable: false,
      description: "Login name.",
      ...fromAddress(({ address }) => address.username),
    }),
    email: t.string({ description: "E-mail address; null unless this is the caller.", ...property("email") }),
    isSuperuser: t.boolean({
      description: "Superuser flag; null unless this is the caller.",
      ...property("is_superuser"),
    }),
    isViewer: t.boolean({ description: "Whether this is the caller.", ...property("is_viewer") }),
    projects: t.field(projectList("Projects of the user.")),
  }),
});

builder.queryField("viewer", (t) =>
  t.field({
    type: User,
    description: "The caller.",
    resolve: (_, _args, { session }) => viewerOf(session),
  }),
);

async function viewerOf(session: Session) {
  const viewer = await readViewer(session);
  return toResource(User.kind, { username: viewer.username }, viewer);
}

const LoginInput = builder.inputType("LoginInput", {
  description: "Credentials.",
  fields: (t) => ({
    username: t.string({ required: true, description: "Login name." }),
    password: t.string({ required: true, description: "Password. Never logged, never cached." }),
  }),
});

/** Exchanges credentials for a token. The only command that is sent without the caller's token. */
const signIn =
  (endpoint: typeof user.login, description: string): AddMutation =>
  (name) => {
    const type = payloadOf<{ readonly token: string }>(name).implement({
      description: outcomeOf(name),
      fields: (t) => ({
        token: t.exposeString("token", {
          nullable: false,
          description: "Send as `Authorization: token <token>` from now on.",
        }),
        user: t.field({
          type: User,
          description: "Whom the token belongs to; read with the new token.",
          resolve: ({ token }, _, { session }) => viewerOf(session.as(token)),
        }),
      }),
    });
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description,
        args: { input: t.arg({ type: LoginInput, required: true, description: "Who signs in." }) },
        resolve: (_, { input }, { session }) => session.send(endpoint, {}, input),
      }),
    );
  };

mutations({
  login: signIn(
    user.login,
    "Exchange username and password for a token. Sends no Authorization header and does not change the token of the other fields of the request.",
  ),
  activateUser: administer(administration.activate, "Activate a user."),
  deleteUser: removeUser(
    administration.delete,
    "Delete a user. Some servers delete the projects and runs of the user as well.",
  ),
  grantSuperuser: administer(administration.grant, "Give a user the superuser role."),
  revokeSuperuser: administer(administration.revoke, "Take the superuser role from a user."),
});
