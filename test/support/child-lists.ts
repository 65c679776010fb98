import { startFake } from "./fake.ts";
import { type Answer, startGateway } from "./gateway.ts";
import lists from "./child-lists.json" with { type: "json" };
import type { Listed } from "./listed.ts";

/** The fields that are lists, each with its parent, its name and its upstream path. */
export const CHILD_LISTS = lists;

export type ChildList = keyof typeof CHILD_LISTS;

export const STATUSES_LIST: ChildList = "Experiment.statuses";

/** An operation on one list, with `$first` and `$after`. */
const childListOperation = (list: ChildList) => `query ($first: Int, $after: String) {
  thing: ${CHILD_LISTS[list][0]} {
    page: ${CHILD_LISTS[list][1]}(first: $first, after: $after) {
      nodes { internalId }
      edges { cursor node { internalId } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
}`;

interface WantedPage {
  readonly first?: number;
  readonly after?: string | null;
}

export type PageAnswer = Answer<{ thing: { page: Listed | null } }>;

/** The errors of a page, without their location in the document. */
export const listErrorsOf = ({ errors }: PageAnswer) =>
  errors?.map(({ message, path, extensions }) => ({ message, path, extensions }));

/** Starts a gateway and returns a function that reads one of its lists. All request ids are `request-1`. */
export async function openList(
  service: { readonly url: string },
  list: ChildList = STATUSES_LIST,
  env: Record<string, string> = {},
) {
  const { ask } = await startGateway({ upstream: service, env });
  const tryPage = async (wanted: WantedPage = {}) =>
    (await ask(childListOperation(list), wanted, { headers: { "x-request-id": "request-1" } })) as PageAnswer;
  const page = async (wanted: WantedPage = {}): Promise<Listed> => {
    const answer = await tryPage(wanted);
    if (!answer.data.thing.page) throw new Error(`no page: ${JSON.stringify(answer.errors)}`);
    return answer.data.thing.page;
  };
  return { ask, page, tryPage };
}

export const rowsOf = (length: number) => Array.from({ length }, (_, index) => ({ id: index + 1 }));

export const idsOfPage = ({ nodes }: Listed) => nodes.map(({ internalId }) => Number(internalId));

/**
 * Starts a service that pages by `limit` and `offset`, as known servers do. Its links contain the Host header, which may have any value.
 */
export function startPaging(rows: readonly unknown[], size = 20, host = "http://internal.example:8000") {
  return startFake(({ path }) => {
    const { pathname, searchParams } = new URL(path, "http://service");
    const limit = Number(searchParams.get("limit") ?? size);
    const offset = Number(searchParams.get("offset") ?? 0);
    const link = (start: number) => `${host}${pathname}?limit=${limit}${start > 0 ? `&offset=${start}` : ""}`;
    return {
      json: {
        count: rows.length,
        next: offset + limit < rows.length ? link(offset + limit) : null,
        previous: offset > 0 ? link(Math.max(0, offset - limit)) : null,
        results: rows.slice(offset, offset + limit),
      },
    };
  });
}
