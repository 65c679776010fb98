import { builder } from "./builder.ts";
import { fieldsOf } from "./fields.ts";
import { handle } from "./handle.ts";
import { readViewer } from "./kinds.ts";
import { projectList } from "./lists.ts";
import { Entity, User } from "./refs.ts";

const { value, known } = fieldsOf(User.kind);

/** Source: service document, "Current user". */
User.implement({
  description: "A person. The service tells details of the caller only; of others just the name is known.",
  interfaces: [Entity],
  fields: (t) => ({
    username: t.string({ nullable: false, description: "Login name.", ...known(({ at }) => at.username) }),
    email: t.string({ description: "E-mail address; null unless this is the caller.", ...value("email") }),
    isSuperuser: t.boolean({
      description: "Superuser flag; null unless this is the caller.",
      ...value("is_superuser"),
    }),
    isViewer: t.boolean({ description: "Whether this is the caller.", ...value("is_viewer") }),
    projects: t.field(projectList("Projects of the user.")),
  }),
});

builder.queryField("viewer", (t) =>
  t.field({
    type: User,
    description: "The caller.",
    resolve: async (_, _args, { session }) => {
      const viewer = await readViewer(session);
      return handle(User.kind, { username: viewer.username }, viewer);
    },
  }),
);
