import type { InputShapeFromFields } from "@pothos/core";
import type { FieldExtensions, InputExtensions } from "../../engine/field-extensions.ts";
import { GatewayError } from "../../errors.ts";
import type { Command, Get } from "../../rest/api/endpoint.ts";
import { administration, capital, project, user } from "../../rest/api/kinds.ts";
import type { Bookmark, Page } from "../../rest/api/reader.ts";
import type { ProjectRecord, RunnableRecord } from "../../rest/api/records.ts";
import { START } from "../../rest/session/list-position.ts";
import { readStep } from "../../rest/session/page-reader.ts";
import { readSlice } from "../../rest/session/pagination.ts";
import type { Session } from "../../rest/session/session.ts";
import { NO_ORDER } from "../../rest/session/ties.ts";
import {
  arg,
  builder,
  computedFrom,
  computedFromOrNull,
  enumType,
  objectType,
  root,
  exposed,
  inputArg,
} from "../core/builder.ts";
import { connect, connectionOf, offsetArgs, readConnection, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires, resolveIdOrName, validateAddress } from "../core/ids.ts";
import { readViewer, type UserAddress, viewer } from "../core/kinds.ts";
import { DeletePayload, payloadOf } from "../core/mutations.ts";
import { Bookmarkable, Project, resourceType, User } from "../core/refs.ts";
import {
  nullIfNotFound,
  type Resource,
  resolveReference,
  toResource,
  requireVerification,
} from "../core/resource.ts";
import { scanFor } from "./scan.ts";
import { WORDS_DESCRIPTION, wordsTest } from "./word-search.ts";
import { runLists } from "./run-list.ts";

const { property, fromAddress, child } = fieldsOf(User.kind);

/* Lists of a user: projects, bookmarks and archived records. Bookmarks and archives contain records of several projects. */

const ProjectConnection = connectionOf(Project, "A page of projects.", { isScanned: true });

/** The order of projects and of archives on known servers. The order of bookmarks is unknown. */
const LATEST_FIRST = ["updated_at"];

const projectArgs = { words: arg.string({ description: WORDS_DESCRIPTION }), ...offsetArgs };

type ProjectArgs = InputShapeFromFields<typeof projectArgs>;

function readProjects(owner: string, { words, ...args }: ProjectArgs, context: Context) {
  const list = {
    endpoint: project.optional.list,
    address: { owner },
    narrowing: words ?? "",
    sortedBy: LATEST_FIRST,
  };
  const toNode = (record: ProjectRecord) => toResource(Project.kind, { owner, project: record.name }, record);
  const isMatch = wordsTest(words, "words");
  const scan = isMatch && scanFor<ProjectRecord>(isMatch, ["words"], args, context);
  return readConnection(list, args, toNode, context, scan);
}

const projectAddress = (name: string | null | undefined) =>
  resolveReference(Project.kind, name ?? "").address;

type OfUser<Row> = Get<{ readonly owner: string }, Page<Row>>;

/** A kind whose records can be bookmarked and archived. */
interface BookmarkableKind {
  readonly many: string;
  readonly bookmarked: OfUser<Bookmark<object>>;
  readonly archived: OfUser<object>;
  /** Must be called only with rows of these two lists. */
  toNode(row: object): Resource;
}

const projectOf = (row: ProjectRecord) => toResource(Project.kind, projectAddress(row.unique_name), row);

/** The kinds with bookmarks and archives, by their names in the enum `BookmarkableKind`. */
const BOOKMARKABLE = new Map<string, BookmarkableKind>([
  ...[...runLists].flatMap(([name, { target }]): [string, BookmarkableKind][] => {
    const { kind } = target;
    const { many, optional: { bookmarked, archived } = {} } = kind.run;
    const toNode = (row: RunnableRecord) =>
      toResource(kind, { ...projectAddress(row.project), id: `${row.id}` }, row);
    return bookmarked && archived ? [[name, { many, bookmarked, archived, toNode }]] : [];
  }),
  ["PROJECT", { ...project.optional, many: project.records, toNode: projectOf }],
]);

const BookmarkableKindEnum = enumType(
  "BookmarkableKind",
  "A kind of record that users bookmark and archive.",
  Object.fromEntries([...BOOKMARKABLE].map(([name, { many }]) => [name, `${capital(many)}.`])),
);

const BookmarkableConnection = connectionOf(Bookmarkable, "A page of runs or projects.");

const bookmarkableArgs = {
  kind: arg.field({ type: BookmarkableKindEnum, required: true, description: "Their kind." }),
  ...offsetArgs,
};

/**
 * Rejects with `FORBIDDEN` unless the caller may see the bookmarks of a user, for whom the service has returned an empty list. To other
 * callers, it returns an empty list in any case.
 */
async function requireVisible(username: string, session: Session): Promise<void> {
  if (session.knownViewer() === username) return;
  const me = await readViewer(session);
  if (me.username === username || me.is_superuser) return;
  throw new GatewayError("FORBIDDEN", "The service shows a user's bookmarks only to that user.");
}

const listOfUser = (list: "bookmarked" | "archived", records: string) => ({
  type: BookmarkableConnection,
  args: bookmarkableArgs,
  ...child(
    `${records} of all projects, in the server's order. ${list === "archived" ? "Empty" : "`FORBIDDEN`"} if the caller may not see them.${requires(project.optional[list])}`,
    async (
      { address, loaded },
      { kind, ...args }: InputShapeFromFields<typeof bookmarkableArgs>,
      context,
    ) => {
      const bookmarkable = BOOKMARKABLE.get(kind);
      if (!bookmarkable) throw new TypeError(`expected a kind that is bookmarkable, got ${kind}`);
      // `bookmarked` is about the caller. Some servers show superusers the bookmarks of other users.
      const bookmark = loaded.is_viewer ? { bookmarked: true } : {};
      // Safe: the rows come from the list of this kind.
      const toNode = (row: object): Resource | null => {
        if (list === "archived") return bookmarkable.toNode(row);
        const { content_object: record } = row as Bookmark<object>;
        return record && bookmarkable.toNode({ ...record, ...bookmark });
      };
      const read = {
        endpoint: bookmarkable[list] as OfUser<object>,
        address: { owner: address.username },
        sortedBy: list === "archived" ? LATEST_FIRST : NO_ORDER,
      };
      const page = await readSlice(context.session, read, sliceRequest(args, context));
      const isEmpty = (page.count ?? page.items.length) === 0;
      if (list === "bookmarked" && isEmpty && !loaded.is_viewer)
        await requireVisible(address.username, context.session);
      const nodes = page.items.map(toNode);
      // The record of a bookmark may be null.
      const items = nodes.flatMap((node, index) => (node ? [{ node, index }] : []));
      const cursorAt = (index: number) => page.cursorAt(items[index]?.index ?? index);
      return connect({ ...page, items, cursorAt }, ({ node }) => node);
    },
  ),
});

/**
 * Resolves with whether a user exists; null if that is not known. On known servers, the list of projects is empty both for a user who does
 * not exist and for a user whose projects are all private.
 */
async function existsAs(
  { address: { username }, loaded }: typeof User.$inferType,
  _args: object,
  { session }: Context,
): Promise<boolean | null> {
  const { list: endpoint } = project.optional;
  if (loaded.is_viewer || session.knownViewer() === username) return true;
  if (session.server.override(endpoint)) {
    const list = { endpoint, address: { owner: username }, sortedBy: NO_ORDER };
    const step = await readStep(session, list, START, 1).catch(nullIfNotFound);
    if (!step) return false;
    if (step.rest.length > 0) return true;
  }
  return (await readViewer(session)).username === username || null;
}

/** Source: service document, "Current user". */
resourceType(
  User,
  "A user. Only the caller's own details are known. They are null for other users.",
  (t) => ({
    username: t.string(fromAddress("Login name.", ({ address }) => address.username)),
    exists: t.boolean(
      child(
        "Whether the user exists: true for the caller and for owners of a project that the caller may see, false if the service has no such user, null if this is not known. Costs up to two requests.",
        existsAs,
      ),
    ),
    email: t.string(property("email", "E-mail address.")),
    isSuperuser: t.boolean(property("is_superuser", "Whether the user is a superuser.")),
    projects: t.field({
      type: ProjectConnection,
      args: projectArgs,
      ...child(
        `Projects of the user that the caller may see.${requires(project.optional.list)}`,
        ({ address: { username } }, args: ProjectArgs, context) => readProjects(username, args, context),
      ),
    }),
    bookmarks: t.field(listOfUser("bookmarked", "Bookmarks")),
    archives: t.field(listOfUser("archived", "Archived records")),
  }),
);

root.query("viewer", {
  type: User,
  description: "The caller: the user of the token.",
  resolve: (_, _args, { session }) => {
    const username = session.knownViewer();
    if (username === null) return viewerOf(session);
    // With the cached name, the reads of the selection start in parallel with the read that verifies the name.
    return requireVerification(toResource(viewer, { username }, { username, is_viewer: true }));
  },
});

root.query("user", {
  type: User,
  description: "A user by login name or id. Only the field `exists` checks whether the user exists.",
  args: { username: arg.string({ required: true, description: "Login name, or global id." }) },
  resolve: (_, { username }, { session }) => {
    session.requireToken();
    return resolveIdOrName(User.kind, "username", username);
  },
});

root.query("projects", {
  type: ProjectConnection,
  description: `Projects of an owner that the caller may see.${requires(project.optional.list)}`,
  args: { owner: arg.string({ description: "Login name. Default: the caller." }), ...projectArgs },
  resolve: async (_, { owner, ...args }, context) => {
    const { session } = context;
    session.server.supported(project.optional.list);
    const name = owner ?? (await readViewer(session)).username;
    return readProjects(validateAddress("owner", { owner: name }).owner, args, context);
  },
});

async function viewerOf(session: Session) {
  const details = await readViewer(session);
  return toResource(User.kind, { username: details.username }, details);
}

const LoginInput = builder.inputType("LoginInput", {
  description: "Credentials.",
  fields: (t) => ({
    username: t.string({ required: true, description: "Login name." }),
    password: t.string({
      required: true,
      description: "Password. Neither logged nor kept.",
      extensions: { isSecret: true } satisfies InputExtensions,
    }),
  }),
});

const LoginPayload = objectType<{ readonly token: string }>("LoginPayload", "Payload of `login`.", (t) => ({
  token: t.string(exposed("token", "Token. Send it as `Authorization: token <token>`.")),
  user: t.field(
    computedFromOrNull(User, "User of the token.", ({ token }, _, { session }) =>
      viewerOf(session.as(token)),
    ),
  ),
}));

const ActivateUserPayload = builder.objectRef<typeof User.$inferType>("ActivateUserPayload").implement({
  description: "Payload of `activateUser`.",
  fields: (t) => ({
    user: t.field(computedFrom(User, "The user.", (of) => of)),
    isActive: t.field(computedFrom("Boolean", "Always true.", () => true)),
  }),
});

const UserPayload = payloadOf(User);

root.mutation("login", {
  type: LoginPayload,
  description: "Exchanges user name and password for a token, which later requests send.",
  args: inputArg(LoginInput, "Credentials."),
  // Prevents one request from guessing many passwords with aliases.
  extensions: { maxPerOperation: 1 } satisfies FieldExtensions,
  resolve: (_, { input }, { session }) => session.send(user.login, {}, input),
});

/** Adds a mutation of a user. `known` has the record values that follow from the command. */
const administer = (
  name: string,
  endpoint: Command<UserAddress, undefined>,
  description: string,
  known: { readonly is_superuser?: boolean } = {},
  type: typeof UserPayload | typeof DeletePayload = UserPayload,
) =>
  root.mutation(name, {
    // Safe: both payload types accept a user.
    type: type as typeof UserPayload,
    description,
    args: { username: arg.string({ required: true, description: "Login name." }) },
    resolve: async (_, { username }, { session }) => {
      const address = { username };
      await session.send(endpoint, address, undefined);
      return toResource(User.kind, address, known);
    },
  });

const { activate, delete: discard, grant, revoke } = administration;
administer("activateUser", activate, "Activates a user.", {}, ActivateUserPayload);
administer(
  "deleteUser",
  discard,
  "Deletes a user. Some servers also delete all projects and runs of the user.",
  {},
  DeletePayload,
);
administer("grantSuperuser", grant, "Gives a user the superuser role.", { is_superuser: true });
administer("revokeSuperuser", revoke, "Takes the superuser role from a user.", { is_superuser: false });
