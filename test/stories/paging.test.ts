import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../cases.ts";
import { type Answer, startFake, startGateway } from "../harness.ts";
import { profileFile } from "../harness-tracker.ts";

/** A list of numbers, of which a page holds at most `most`, and some fewer when nobody says how many. */
interface Numbers {
  length: number;
  most: number;
}

interface Way {
  /** What a profile says of it. */
  readonly profile: object;
  /** A page of the list as such a server gives it. */
  readonly answer: (numbers: Numbers, params: URLSearchParams) => unknown;
}

const itemsOf = ({ length }: Numbers, from: number, size: number) =>
  Array.from({ length: Math.max(0, Math.min(size, length - from)) }, (_, index) => ({
    id: from + index + 1,
  }));

const sizeOf = ({ most }: Numbers, asked: string | null) => Math.min(most, Number(asked ?? 5));

const WAYS: Readonly<Record<string, Way>> = {
  "by offset, with the length of the list in an object of its own": {
    profile: {
      envelope: { items: "data.list", count: "meta.total", next: null },
      paging: { by: "offset", parameter: "from", size: "n" },
    },
    answer: (numbers, params) => {
      const list = itemsOf(numbers, Number(params.get("from")), sizeOf(numbers, params.get("n")));
      return { data: { list }, meta: { total: numbers.length } };
    },
  },
  "by offset, as bare lists": {
    profile: {
      envelope: { items: null, count: null, next: null },
      paging: { by: "offset", parameter: "from", size: "n", maxSize: 4 },
    },
    answer: (numbers, params) =>
      itemsOf(numbers, Number(params.get("from")), sizeOf({ ...numbers, most: 4 }, params.get("n"))),
  },
  "by numbers of pages, with the length of the list": {
    profile: { paging: { by: "page", parameter: "page", size: "per_page" } },
    answer: (numbers, params) => {
      const size = sizeOf(numbers, params.get("per_page"));
      const results = itemsOf(numbers, (Number(params.get("page") ?? 1) - 1) * size, size);
      return { results, count: numbers.length };
    },
  },
  "by numbers of pages that begin with 0, as bare lists": {
    profile: {
      envelope: { items: null, count: null, next: null },
      paging: { by: "page", parameter: "p", first: 0, size: "n", maxSize: 4 },
    },
    answer: (numbers, params) => {
      const size = sizeOf({ ...numbers, most: 4 }, params.get("n"));
      return itemsOf(numbers, Number(params.get("p")) * size, size);
    },
  },
  "by numbers of pages, with the number of the next one": {
    profile: {
      envelope: { items: "results", count: null, next: "next_page" },
      paging: { by: "page", parameter: "page", size: "per_page" },
    },
    answer: (numbers, params) => {
      const size = sizeOf(numbers, params.get("per_page"));
      const page = Number(params.get("page") ?? 1);
      return {
        results: itemsOf(numbers, (page - 1) * size, size),
        next_page: page * size < numbers.length ? page + 1 : null,
      };
    },
  },
  "by cursors that are numbers": {
    profile: {
      envelope: { count: null, next: "after" },
      paging: { by: "cursor", parameter: "after", size: "limit" },
    },
    answer: (numbers, params) => {
      const start = Number(params.get("after"));
      const results = itemsOf(numbers, start, sizeOf(numbers, params.get("limit")));
      const end = start + results.length;
      return { results, after: end < numbers.length ? end : null };
    },
  },
  "by cursors that are told at the end too, and no size": {
    profile: {
      envelope: { count: "count", next: "cursor" },
      paging: { by: "cursor", parameter: "cursor" },
    },
    answer: (numbers, params) => {
      const start = Number((params.get("cursor") ?? "c0").slice(1));
      const results = itemsOf(numbers, start, numbers.most);
      return { results, count: numbers.length, cursor: `c${start + results.length}` };
    },
  },
  "by links with names of its own": {
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

interface Jobs {
  readonly project: {
    readonly jobs: {
      readonly edges: readonly { readonly cursor: string; readonly node: { readonly internalId: string } }[];
      readonly pageInfo: { readonly hasNextPage: boolean };
    };
  };
}

const JOBS = `query ($first: Int, $after: String) { project(owner: "ada", name: "mnist") {
  jobs(first: $first, after: $after) { edges { cursor node { internalId } } pageInfo { hasNextPage } }
} }`;

test.each(Object.entries(WAYS))(
  "a server pages %s: a walk gives every item once, in steps of any length, from any item on",
  async (_, { profile, answer }) => {
    const numbers: Numbers = { length: 0, most: 1 };
    const service = await startFake(({ path }) => {
      const { searchParams } = new URL(path, "http://service");
      return searchParams.has("secret") ? undefined : { json: answer(numbers, searchParams) };
    });
    const written = { endpoints: { optional: { jobs: "GET {owner}/{project}/jobs" } }, ...profile };
    const { ask } = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: profileFile(JSON.stringify(written)), MAX_PAGE_SIZE: "20" },
    });
    const step = fc.record({
      first: fc.option(fc.integer({ min: 1, max: 20 })),
      /** How many items of the page are taken: the walk goes on behind the last of them. */
      taken: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { minLength: 1, maxLength: 4 }),
        async (length, most, steps) => {
          Object.assign(numbers, { length, most });
          const walked: string[] = [];
          let after: string | null = null;
          for (let count = 0; ; count++) {
            const { first = null, taken = 1 } = steps[count % steps.length] ?? {};
            const found: Answer<Jobs> = await ask<Jobs, object>(JOBS, { first, after });
            expect(found.errors).toBeUndefined();
            const { edges, pageInfo }: Jobs["project"]["jobs"] = found.data.project.jobs;
            expect(edges.length).toBeLessThanOrEqual(first ?? 20);
            const kept = edges.slice(0, taken);
            walked.push(...kept.map(({ node }) => node.internalId));
            after = kept.at(-1)?.cursor ?? after;
            if (kept.length === edges.length && !pageInfo.hasNextPage) break;
          }
          expect(walked).toEqual(Array.from({ length }, (__, index) => `${index + 1}`));
        },
      ),
      { numRuns: cases(10, 100) },
    );
  },
);
