import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { opaque } from "../support/ids.ts";

interface Page {
  readonly nodes: readonly { readonly internalId: string }[];
  readonly edges: readonly { readonly cursor: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly totalCount: number | null;
}
type Pages = Answer<{ experiment: { metrics: Page | null } }>;

const READ = `query ($first: Int, $after: String) {
  experiment(id: "ada.mnist.42") {
    metrics(first: $first, after: $after) {
      nodes { internalId }
      edges { cursor }
      pageInfo { hasNextPage endCursor }
      totalCount
    }
  }
}`;

interface Wanted {
  readonly first?: number;
  readonly after?: string | null;
}

/**
 * A list of so many rows, from servers of three kinds: `size` rows are a page, unless the request asks for another
 * number where that is possible.
 */
async function startList(kind: "limit" | "page" | "cursor", length: number, size: number) {
  const rows = Array.from({ length }, (_, index) => ({ id: index + 1 }));
  return startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const number = (name: string, fallback: number) => Number(searchParams.get(name) ?? fallback);
    const limit = number(kind === "page" ? "page_size" : "limit", size);
    const start =
      kind === "limit"
        ? number("offset", 0)
        : kind === "page"
          ? (number("page", 1) - 1) * limit
          : Number(Buffer.from(searchParams.get("cursor") ?? "", "base64url").toString());
    const end = start + limit;
    const link = {
      limit: `limit=${limit}&offset=${end}`,
      page: `page=${end / limit + 1}&page_size=${limit}`,
      cursor: `limit=${limit}&cursor=${opaque(`${end}`)}`,
    };
    const next = end < length ? `http://internal.example/x?${link[kind]}` : null;
    return { json: { count: length, next, results: rows.slice(start, end) } };
  });
}

async function open(
  service: { readonly url: string },
  env: Record<string, string> = {},
): Promise<(wanted?: Wanted) => Promise<Page>> {
  const { ask } = await startGateway({ upstream: service, env });
  return async (wanted = {}) => {
    const { data, errors } = (await ask(READ, wanted)) as Pages;
    if (!data.experiment.metrics) throw new Error(`no page: ${JSON.stringify(errors)}`);
    return data.experiment.metrics;
  };
}

const idsOf = ({ nodes }: Page) => nodes.map(({ internalId }) => Number(internalId));
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const PATH = "ada/mnist/experiments/42/metrics";

const SERVERS = [
  ["that take limit and offset", "limit", "polyaxon-0.2"],
  ["whose links count items", "limit", "document"],
  ["whose links count pages", "page", "document"],
  ["whose links are opaque", "cursor", "document"],
] as const;

describe.each(SERVERS)("on servers %s", (_, kind, UPSTREAM_PROFILE) => {
  test("a list without `first` gives at most MAX_PAGE_SIZE items of a longer page, by the same request", async () => {
    const service = await startList(kind, 1_300, 1_200);
    const page = await open(service, { UPSTREAM_PROFILE, MAX_PAGE_SIZE: "500" });
    const found = await page();
    expect(idsOf(found)).toEqual(numbers(1, 500));
    expect(found).toMatchObject({ totalCount: 1_300, pageInfo: { hasNextPage: true } });
    expect(found.pageInfo.endCursor).toBe(found.edges.at(-1)?.cursor);
    expect(service.calls()).toEqual([`GET ${PATH}`]);
  });

  test("a walk in steps of any kind gives every item once, through pages longer than MAX_PAGE_SIZE", async () => {
    const service = await startList(kind, 47, 20);
    const page = await open(service, { UPSTREAM_PROFILE, MAX_PAGE_SIZE: "7" });
    for (const steps of [[{}], [{ first: 7 }], [{}, { first: 3 }, { first: 5 }]]) {
      const walked: number[] = [];
      let after: string | null = null;
      for (let taken = 0; taken < 30; taken++) {
        const { nodes, pageInfo }: Page = await page({ ...steps[taken % steps.length], after });
        expect(nodes.length).toBeLessThanOrEqual(7);
        walked.push(...nodes.map(({ internalId }) => Number(internalId)));
        after = pageInfo.endCursor ?? after;
        if (!pageInfo.hasNextPage) break;
      }
      expect(walked).toEqual(numbers(1, 47));
    }
  });
});

test("the last items of a page that is cut are the last of the list, and there is no more", async () => {
  const page = await open(await startList("limit", 9, 20), { MAX_PAGE_SIZE: "5" });
  const { pageInfo } = await page();
  const rest = await page({ after: pageInfo.endCursor });
  expect(idsOf(rest)).toEqual([6, 7, 8, 9]);
  expect(rest.pageInfo.hasNextPage).toBe(false);
});

test("metricSeries has all points of a page longer than MAX_PAGE_SIZE", async () => {
  const results = numbers(1, 30).map((id) => ({ id, created_at: `${id}`, values: { loss: id } }));
  const service = await startFake(() => ({ json: { count: 30, next: null, results } }));
  const { ask } = await startGateway({ upstream: service, env: { MAX_PAGE_SIZE: "5" } });
  expect(await ask(`{ experiment(id: "ada.mnist.42") { metricSeries { totalPoints values } } }`)).toEqual({
    data: { experiment: { metricSeries: [{ totalPoints: 30, values: numbers(1, 30) }] } },
  });
});

describe("a cursor that somebody wrote", () => {
  test.each([
    ["a longer page", "limit=900000#0", "limit=500&offset=0"],
    ["a longer page further on", "limit=900000&offset=40#2", "limit=500&offset=42"],
    ["a longer page that does not look like it", "limit=9_00&offset=40#2", "limit=500&offset=42"],
    ["a longer page in other digits", "limit=%D9%A9%D9%A9%D9%A9%D9%A9#0", "limit=500&offset=0"],
    ["a longer page by its number", "page=3&page_size=900000#0", "page=3"],
    ["a longer page by its number and limit", "limit=900000&page=3#0", "page=3"],
    ["a longer page by its mark", "limit=900000&cursor=abc#0", "cursor=abc"],
    ["both sizes", "limit=900000&offset=40&page_size=900000#0", "limit=500&offset=40"],
    ["a page as long as may be", "limit=500&offset=40#0", "limit=500&offset=40"],
    ["a place as far as may be", "offset=999999999#0", "offset=999999999"],
  ])("cannot ask for %s: %s", async (_, text, query) => {
    const service = await startList("limit", 10, 5);
    const page = await open(service, { MAX_PAGE_SIZE: "500" });
    await page({ after: opaque(text) });
    expect(service.calls()).toEqual([`GET ${PATH}?${query}`]);
  });

  test.each([
    "offset=9999999999#0",
    "offset=1_9999999999#0",
    "page=9999999999#0",
    "limit=5#100001",
    "offset=3#999999999",
  ])("of a place that no list has is refused: %s", async (text) => {
    const service = await startList("limit", 10, 5);
    const { ask } = await startGateway({ upstream: service });
    const { errors } = (await ask(READ, { after: opaque(text) })) as Pages;
    expect(errors?.map(({ message, extensions }) => [message, extensions["code"]])).toEqual([
      [`after: expected a cursor of this list, got "${opaque(text)}"`, "BAD_USER_INPUT"],
    ]);
    expect(service.calls()).toEqual([]);
  });

  test("of a place that is no number is the start, where the gateway counts", async () => {
    const service = await startList("limit", 10, 5);
    const page = await open(service, { UPSTREAM_PROFILE: "polyaxon-0.2" });
    await page({ first: 2, after: opaque("offset=1e300#0") });
    expect(service.calls()).toEqual([`GET ${PATH}?limit=2`]);
  });
});
