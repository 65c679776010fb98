import { InputError, UpstreamError } from "../../errors.ts";
import { runKinds } from "../../rest/api/kinds.ts";
import { type NewSearch, project } from "../../rest/api/project.ts";
import type { SavedSearchRecord } from "../../rest/api/optional-records.ts";
import { pagesOf, slice } from "../../rest/session/pages.ts";
import type { Session } from "../../rest/session/session.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { entryIds } from "../core/entry-ids.ts";
import { decodeRecordId, identify, requires } from "../core/ids.ts";
import { kinds, type ProjectAddress } from "../core/kinds.ts";
import { Project } from "../core/refs.ts";
import type { Kind } from "../core/resource.ts";
import {
  type AddMutation,
  mutations,
  payloadOf,
  payloadTitle,
  removeRecord,
} from "../operations/mutations.ts";
import { RunKind, runKindNamed } from "./run-kind.ts";

/*
 * Saved searches: a filter and an order of a list, in the server's own language, which the caller saved under a name.
 */

const { savedSearches: endpoint, saveSearch: save, deleteSearch } = project.optional;

/** The path parameters of a project's searches for a kind of run. */
type SearchesAddress = ProjectAddress & { readonly kind: string };

interface Search {
  readonly address: SearchesAddress;
  readonly record: SavedSearchRecord;
}

const PARAMETERS = ["owner", "project", "kind", "id"] as const;

const SavedSearch = builder.objectRef<Search>("SavedSearch").implement({
  description:
    "A filter and an order of a list of runs that the caller saved. Both are in the query language of the server.",
  fields: (t) => ({
    ...entryIds(t, {
      type: "SavedSearch",
      use: "for the argument `savedSearch` of lists, for `deleteSavedSearch`, and for client caches. A saved search cannot be looked up by it.",
      within: ({ address: { owner, project: name, kind } }) => [owner, name, kind],
      number: ({ record }) => record.id,
    }),
    name: t.string({
      description:
        "Name. Known servers store a name that is taken with a number, such as `best-1`; names of other callers count.",
      resolve: ({ record }) => record.name ?? null,
    }),
    query: t.string({
      description: "Filter in the query language of the server, such as `status:running`.",
      resolve: ({ record }) => record.query?.query ?? null,
    }),
    sort: t.string({
      description:
        "Order as the server spells it, such as `-created_at`. Null or empty: the order of the server.",
      resolve: ({ record }) => record.query?.sort ?? null,
    }),
    meta: t.field({
      type: "JSON",
      description: "What clients keep with the search, such as columns of a table. Its shape is theirs.",
      resolve: ({ record }) => record.meta ?? null,
    }),
  }),
});

const SavedSearchConnection = connectionOf("SavedSearch", SavedSearch, "A page of saved searches.");

const kindArg = builder.args((t) => ({
  kind: t.field({
    type: RunKind,
    required: true,
    defaultValue: "EXPERIMENT",
    description: "Kind of the runs that are searched.",
  }),
}));

/** What profiles call the lists of a kind is also what paths call it. */
const searchesOf = ({ owner, project: name }: ProjectAddress, kind: string): SearchesAddress => ({
  owner,
  project: name,
  kind: runKindNamed(kind).run.records,
});

/** The field `savedSearches` of a project. */
export const savedSearches = {
  type: SavedSearchConnection,
  description: `Searches of the project that the caller saved, the latest first on known servers.${requires(endpoint)}`,
  args: builder.args(() => ({ ...pageArgs, ...kindArg })),
  ...fieldsOf(Project.kind).child(async (resource, args: PageArgs & { kind: string }, context: Context) => {
    const address = searchesOf(resource.address, args.kind);
    const page = await slice(context.session, { endpoint, address }, sliceRequest(args, context));
    return connect(page, (record) => ({ address, record }));
  }),
};

function decodeSearch(argument: string, id: string) {
  const address = decodeRecordId("SavedSearch", argument, id, PARAMETERS);
  if (runKinds.some(({ records }) => records === address.kind)) return address;
  throw new InputError(`${argument}: expected the id of a search of runs, got one of ${address.kind}`);
}

/** The list for which a saved search is used. */
interface Listed {
  readonly kind: Kind;
  readonly project: ProjectAddress;
}

/** Checks that a saved search is one of this list, and gives the function that reads it. Throws `InputError`. */
export function savedSearchFor(id: string, { kind, project: of }: Listed) {
  const { id: number, ...address } = decodeSearch("savedSearch", id);
  const expected = { owner: of.owner, project: of.project, kind: kind.run?.records };
  if (Object.entries(expected).some(([name, value]) => address[name as keyof typeof expected] !== value)) {
    throw new InputError(
      `savedSearch: expected a search of the ${kind.run?.many} of ${kinds.project.formatName(of)}, got one of the ${address.kind} of ${kinds.project.formatName(address)}`,
    );
  }
  return (session: Session) => findSearch(session, address, Number(number));
}

/** No server has an address for a single search. */
async function findSearch(session: Session, address: SearchesAddress, id: number) {
  for await (const records of pagesOf(session, { endpoint, address })) {
    const found = records.find((record) => record.id === id);
    if (found) return found.query;
  }
  throw new UpstreamError("NOT_FOUND", "The caller has no saved search with this id.");
}

const SaveSearchInput = builder.inputType("SaveSearchInput", {
  description: "A search to save.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name." }),
    query: t.string({
      required: true,
      description:
        "Filter in the query language of the server, such as `status:running`. The service saves it unread.",
    }),
    sort: t.string({ description: "Order as the server spells it, such as `-created_at`." }),
    meta: t.field({ type: "JSON", description: "What the client wants to keep with the search." }),
  }),
});

const searchBody = ({ name, query, sort, meta }: typeof SaveSearchInput.$inferInput): NewSearch => ({
  name,
  query: { query, ...(sort != null && { sort }) },
  ...(meta != null && { meta }),
});

const saveSearch: AddMutation = (mutation) => {
  const type = payloadOf<{ readonly savedSearch: Search }>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      savedSearch: t.field({
        type: SavedSearch,
        nullable: false,
        description: "The saved search, with the name that the service gave it.",
        resolve: (result) => result.savedSearch,
      }),
    }),
  });
  builder.mutationField(mutation, (t) =>
    t.field({
      type,
      description: `Saves a search of the caller.${requires(save)}`,
      args: {
        project: t.arg.id({
          required: true,
          description: `Global id, or unique name such as \`${Project.kind.exampleName}\`, of the project.`,
        }),
        ...kindArg,
        input: t.arg({ type: SaveSearchInput, required: true, description: "The search." }),
      },
      resolve: async (_, { project: id, kind, input }, { session }) => {
        const address = searchesOf(identify(Project.kind, "project", id).address, kind);
        return { savedSearch: { address, record: await session.send(save, address, searchBody(input)) } };
      },
    }),
  );
};

mutations({
  saveSearch,
  deleteSavedSearch: removeRecord("saved search", deleteSearch, (id, { session }) =>
    session.send(deleteSearch, decodeSearch("id", id), undefined),
  ),
});
