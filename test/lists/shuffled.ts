import { expect } from "vitest";
import { errorsOf } from "../support/errors.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { seeded } from "../support/seeded.ts";

/* Lists whose rows with equal dates have a new order in each response. */

export interface Row {
  readonly id: number;
  readonly [key: string]: unknown;
}

/** Rows in ties of these lengths. The rows of a tie have equal dates. */
export function tiesOf(lengths: readonly number[]): Row[][] {
  let id = 0;
  return lengths.map((length, index) => {
    const date = new Date(Date.UTC(2026, 2, 1, 10, index)).toISOString();
    const dates = { created_at: date, updated_at: date, started_at: date, finished_at: null };
    const rowOf = (own: number): Row => ({
      id: own,
      name: `p${own}`,
      unique_name: `ada.p${own}`,
      project: "ada.mnist",
      last_metric: { loss: index },
      values: { loss: own },
      declarations: { seed: own },
      tags: ["x"],
      ...dates,
    });
    return Array.from({ length }, () => rowOf(++id));
  });
}

/**
 * Starts a service that returns the rows of a tie in a new order for each request, as PostgreSQL does without a key that distinguishes
 * them. Its pages have at most `most` rows, whatever is requested.
 */
export async function startShuffling(
  lengths: readonly number[],
  env: Record<string, string> = RELEASE_04,
  most = Number.POSITIVE_INFINITY,
) {
  const random = seeded(1);
  const state = { ties: tiesOf(lengths) };
  const shuffled = (rows: readonly Row[]) =>
    rows
      .map((row) => ({ row, key: random() }))
      .toSorted((one, other) => one.key - other.key)
      .map(({ row }) => row);
  const bookmarks = () => shuffled(state.ties.flat()).map((row) => ({ content_object: row }));
  const service = await startFake((seen) =>
    seen.path.includes("/users/")
      ? { json: { username: "ada" } }
      : pageOf(seen.path.includes("/bookmarks/") ? bookmarks() : state.ties.flatMap(shuffled), seen, most),
  );
  const { ask, url } = await startGateway({ upstream: service, env });
  const pageIn = async (query: string, variables: object): Promise<Listed> => {
    const answer = await ask(query, variables);
    expect(errorsOf(answer)).toEqual([]);
    return listIn(answer, "of.page");
  };
  /** The ids of each page, read to the end of a list. */
  const walk = async (query: string, variables: object = {}): Promise<number[][]> => {
    const pages: number[][] = [];
    for (let after: string | null = null; pages.length < 100;) {
      const page: Listed = await pageIn(query, { ...variables, after });
      pages.push(idsIn(page));
      if (!page.pageInfo.hasNextPage) break;
      after = page.pageInfo.endCursor;
    }
    return pages;
  };
  return { ask, url, service, state, pageIn, walk };
}

export const idsIn = ({ nodes }: Listed) =>
  nodes.map(({ internalId, name }) => Number(internalId ?? `${name}`.replace("p", "")));

export const listOf = (list: string, of = `project(id: "ada.mnist")`, node = "internalId") =>
  `query ($first: Int, $after: String, $offset: Int, $order: RunOrder, $filter: RunFilter) {
    of: ${of} { page: ${list} { edges { cursor node { ${node} } } nodes { ${node} } pageInfo { hasNextPage endCursor } } }
    used: project(id: "ada.mnist") { unused: experiments(first: $first, after: $after, offset: $offset, order: $order, filter: $filter) @include(if: false) { totalCount } }
  }`;

export const RUNS = listOf(
  "experiments(first: $first, after: $after, offset: $offset, order: $order, filter: $filter)",
);

export const numbers = (length: number) => Array.from({ length }, (_, index) => index + 1);
export const sorted = (pages: readonly (readonly number[])[]) => pages.flat().toSorted((a, b) => a - b);
