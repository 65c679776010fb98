import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startDemoGateway, still } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import CURSORS_OF_1_0 from "./cursors-of-1.0.json" with { type: "json" };

/** A list of numbers. A page has at most `most` of them, and at most `usual` without a limit in the request. */
interface Numbers {
  length: number;
  most: number;
  usual: number;
}

interface Way {
  /** The list in a profile. */
  readonly profile: object;
  /** A page of the list in the format of such a server. */
  readonly answer: (numbers: Numbers, params: URLSearchParams) => unknown;
}

const itemsOf = ({ length }: Numbers, from: number, size: number) =>
  Array.from({ length: Math.max(0, Math.min(size, length - from)) }, (_, index) => ({
    id: from + index + 1,
  }));

const sizeOf = ({ most, usual }: Numbers, asked: string | null) => Math.min(most, Number(asked ?? usual));

const WAYS: Readonly<Record<string, Way>> = {
  "by offset, with the length of the list": {
    profile: { paging: { by: "offset", parameter: "from", size: "n" } },
    answer: (numbers, params) => {
      const results = itemsOf(numbers, Number(params.get("from")), sizeOf(numbers, params.get("n")));
      return { results, count: numbers.length };
    },
  },
  "by offset, with a link to the next page": {
    profile: { paging: { by: "offset", parameter: "from", size: "n", maxSize: 4 } },
    answer: (numbers, params) => {
      const from = Number(params.get("from"));
      const results = itemsOf(numbers, from, sizeOf({ ...numbers, most: 4 }, params.get("n")));
      return { results, next: from + results.length < numbers.length ? "?from=elsewhere" : null };
    },
  },
  "by links with custom names": {
    profile: { paging: { by: "link", parameters: { begin: "offset", length: "size" } } },
    answer: (numbers, params) => {
      const size = sizeOf(numbers, params.get("length"));
      const begin = Number(params.get("begin"));
      const end = begin + size;
      return {
        results: itemsOf(numbers, begin, size),
        next: end < numbers.length ? `http://inside/v1/jobs?secret=1&begin=${end}&length=${size}` : null,
      };
    },
  },
};

const JOBS = `query ($first: Int, $after: String) { project(id: "ada.mnist") {
  jobs(first: $first, after: $after) {
    edges { cursor node { internalId } } pageInfo { hasNextPage hasPreviousPage } totalCount
  }
} }`;

interface Step {
  readonly first: number | null;
  /** How many items of the page are used: reading continues after the last of them. */
  readonly taken: number;
  /** Whether the page is read from the gateway with the smaller MAX_PAGE_SIZE. */
  readonly isNarrow: boolean;
}

const step = (first: number | null, taken: number, isNarrow = false): Step => ({ first, taken, isNarrow });
/** A position after the server's default page, and one that lies in pages of another length. */
const EXAMPLES: [Numbers, Step[]][] = [
  [{ length: 60, most: 30, usual: 5 }, [step(12, 8), step(null, 20)]],
  [{ length: 60, most: 30, usual: 30 }, [step(20, 13), step(null, 2, true)]],
];

test.each(Object.entries(WAYS))(
  "paging %s returns each item once, for any cursor and page size",
  async (_, { profile, answer }) => {
    const numbers: Numbers = { length: 0, most: 1, usual: 1 };
    const service = await startFake(({ path }) => {
      const { searchParams } = new URL(path, "http://service");
      return searchParams.has("secret") ? undefined : { json: answer(numbers, searchParams) };
    });
    const written = { endpoints: { optional: { jobs: "GET {owner}/{project}/jobs" } }, ...profile };
    const UPSTREAM_PROFILE = profileFile(JSON.stringify(written));
    const start = (MAX_PAGE_SIZE: string) =>
      startGateway({ upstream: service, env: { UPSTREAM_PROFILE, MAX_PAGE_SIZE } });
    const gateways = { wide: await start("20"), narrow: await start("6") };
    const anyStep: fc.Arbitrary<Step> = fc.record({
      first: fc.option(fc.integer({ min: 1, max: 20 })),
      isNarrow: fc.boolean(),
      taken: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          length: fc.integer({ min: 0, max: 60 }),
          most: fc.integer({ min: 1, max: 30 }),
          usual: fc.integer({ min: 1, max: 30 }),
        }),
        fc.array(anyStep, { minLength: 1, maxLength: 4 }),
        async (list, steps) => {
          Object.assign(numbers, list);
          const walked: string[] = [];
          let after: string | null = null;
          for (let count = 0; ; count++) {
            const { first = null, taken = 1, isNarrow } = steps[count % steps.length] ?? {};
            const most = isNarrow ? 6 : 20;
            const found: Answer<unknown> = await gateways[isNarrow ? "narrow" : "wide"].ask(JOBS, {
              first: first && Math.min(first, most),
              after,
            });
            expect(found.errors).toBeUndefined();
            const { edges, pageInfo, totalCount }: Listed = listIn(found, "project.jobs");
            expect([null, list.length]).toContain(totalCount);
            expect(pageInfo.hasPreviousPage).toBe(walked.length > 0);
            expect(edges.length).toBeLessThanOrEqual(Math.min(first ?? most, most));
            // An empty page has no cursor from which to continue.
            expect(edges.length === 0 && pageInfo.hasNextPage).toBe(false);
            const kept = edges.slice(0, taken);
            walked.push(...kept.map(({ node }) => `${node["internalId"]}`));
            after = kept.at(-1)?.cursor ?? after;
            if (kept.length === edges.length && !pageInfo.hasNextPage) break;
          }
          expect(walked).toEqual(Array.from({ length: list.length }, (__, index) => `${index + 1}`));
        },
      ),
      { numRuns: cases(10, 100), examples: EXAMPLES },
    );
  },
);

describe("cursors of version 1.0 still work for", () => {
  test.each(CURSORS_OF_1_0)("$of: $list $arguments", async ({ of, list, arguments: given, cursor }) => {
    const { ask } = await startDemoGateway({ now: still, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const readIds = async (more: string) => {
      const answer = await ask(`{ of: ${of} { page: ${list}(${given} ${more}) { nodes { id } } } }`);
      expect(errorsOf(answer)).toEqual([]);
      return listIn(answer, "of.page").nodes;
    };
    const [, offset] = /=(\d+)/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
    const expected = (await readIds("first: 4")).slice(Number(offset));
    expect((await readIds(`first: 4, after: "${cursor}"`)).slice(0, expected.length)).toEqual(expected);
  });
});
