import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";
import { profileFile } from "../support/tracker.ts";

interface Experiments {
  readonly project: {
    readonly experiments: {
      readonly nodes: readonly { readonly internalId: string }[];
      readonly pageInfo: {
        readonly hasPreviousPage: boolean;
        readonly hasNextPage: boolean;
        readonly endCursor: string | null;
      };
      readonly totalCount: number | null;
    };
  };
}

const QUERY = `query ($first: Int, $offset: Int, $after: String) { project(owner: "ada", name: "mnist") {
  experiments(first: $first, offset: $offset, after: $after, orderBy: CREATED_ASC) {
    nodes { internalId }
    pageInfo { hasPreviousPage hasNextPage endCursor }
    totalCount
  }
} }`;

const pageOf = ({ data }: Answer<Experiments>) => {
  const { nodes, pageInfo, totalCount } = data.project.experiments;
  const { hasPreviousPage, hasNextPage } = pageInfo;
  return { ids: nodes.map(({ internalId }) => Number(internalId)), hasPreviousPage, hasNextPage, totalCount };
};

const LIST = "GET ada/mnist/experiments?sort=created_at%2C-updated_at";

describe("a page at an offset", () => {
  test.each([
    [{ first: 20, offset: 40 }, [6, true, false], "&limit=20&offset=40"],
    [{ first: 5, offset: 0 }, [5, false, true], "&limit=5"],
    [{ first: 1, offset: 44 }, [1, true, true], "&limit=1&offset=44"],
    [{ offset: 10 }, [20, true, true], "&offset=10"],
    [{ first: 5, offset: 46 }, [0, true, false], "&limit=5&offset=46"],
    [{ first: 5, offset: 999_999_999 }, [0, true, false], "&limit=5&offset=999999999"],
  ] as const)("%j is one request", async (args, [length, hasPreviousPage, hasNextPage], parameters) => {
    const { ask, calls } = await startProfile();
    const { ids, ...rest } = pageOf(await ask<Experiments, object>(QUERY, args));
    expect({ length: ids.length, ...rest }).toEqual({
      length,
      hasPreviousPage,
      hasNextPage,
      totalCount: 46,
    });
    expect(calls()).toEqual([`${LIST}${parameters}`]);
  });

  test("goes on by its cursor", async () => {
    const { ask, calls } = await startProfile();
    const whole = pageOf(await ask<Experiments, object>(QUERY, { first: 46 })).ids;
    const page = await ask<Experiments, object>(QUERY, { first: 3, offset: 20 });
    const after = page.data.project.experiments.pageInfo.endCursor;
    const next = await ask<Experiments, object>(QUERY, { first: 3, after });
    expect([...pageOf(page).ids, ...pageOf(next).ids]).toEqual(whole.slice(20, 26));
    expect(calls().slice(0, 2)).toEqual([`${LIST}&limit=3&offset=20`, `${LIST}&limit=3&offset=23`]);
  });

  test("of an empty list has nothing before it", async () => {
    const service = await startFake(() => ({ json: { count: 0, results: [] } }));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    expect(pageOf(await ask<Experiments, object>(QUERY, { first: 5, offset: 5 }))).toEqual({
      ids: [],
      hasPreviousPage: false,
      hasNextPage: false,
      totalCount: 0,
    });
  });

  test("can be one of projects", async () => {
    const { ask, calls } = await startProfile();
    expect(
      await ask(`{ viewer { projects(first: 1, offset: 1) {
        nodes { name } pageInfo { hasPreviousPage hasNextPage }
      } } }`),
    ).toEqual({
      data: {
        viewer: {
          projects: { nodes: [{ name: "mnist" }], pageInfo: { hasPreviousPage: true, hasNextPage: false } },
        },
      },
    });
    expect(calls()).toEqual(["GET ada?limit=1&offset=1", "GET users/"]);
  });

  test.each([
    [{ offset: -1 }, "offset: expected 0 to 999999999, got -1"],
    [{ offset: 1_000_000_000 }, "offset: expected 0 to 999999999, got 1000000000"],
    [{ offset: 0, after: "b2Zmc2V0PTIjMA" }, "offset: expected `offset` or `after`, got both"],
  ])("is refused with %j, without a request", async (args, message) => {
    const { ask, calls } = await startProfile();
    expect(errorsOf(await ask(QUERY, args))).toEqual([
      failure("project.experiments", "BAD_USER_INPUT", message),
    ]);
    expect(calls()).toEqual([]);
  });

  test("is not available where the server links its pages", async () => {
    const { ask, calls } = await startProfile("polyaxon-0.4", {
      UPSTREAM_PROFILE: profileFile(
        "extends: polyaxon-0.4\npaging: {by: link, parameters: {limit: size, offset: offset}}",
      ),
    });
    expect(errorsOf(await ask(QUERY, { first: 20, offset: 20 }))).toEqual([
      failure(
        "project.experiments",
        "CAPABILITY_UNAVAILABLE",
        "The server behind this gateway does not offer pages at an offset. `gateway.capabilities` tells what there is.",
      ),
    ]);
    expect(calls()).toEqual([]);
  });
});

test("a server that numbers its pages gives any part of the list, and whole pages in one request", async () => {
  const numbers = { length: 0 };
  const service = await startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const size = Math.min(15, Number(searchParams.get("n") ?? 7));
    const from = Number(searchParams.get("p") ?? 0) * size;
    const length = Math.max(0, Math.min(size, numbers.length - from));
    return { json: { results: Array.from({ length }, (_, index) => ({ id: from + index + 1 })) } };
  });
  const written = `extends: polyaxon-0.4
envelope: {count: null, next: null}
paging: {by: page, parameter: p, first: 0, size: n, maxSize: 15}`;
  const { ask } = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: profileFile(written), MAX_PAGE_SIZE: "20" },
  });
  const natural = (max: number) => fc.integer({ min: 0, max });
  await fc.assert(
    fc.asyncProperty(
      natural(60),
      fc.option(fc.integer({ min: 1, max: 20 })),
      natural(60),
      async (length, first, offset) => {
        numbers.length = length;
        const before = service.seen().length;
        const page = pageOf(await ask<Experiments, object>(QUERY, { first, offset }));
        const all = Array.from({ length }, (_, index) => index + 1);
        // Without `first` it is the rest of one page of the server.
        const expected = all.slice(offset, first === null ? offset + page.ids.length : offset + first);
        expect(page.ids).toEqual(expected);
        expect(page.ids.length > 0 || first !== null || offset >= length).toBe(true);
        expect(page.hasPreviousPage).toBe(offset > 0);
        expect(page.hasNextPage || page.ids.length === 0 || offset + page.ids.length === length).toBe(true);
        const isWholePage = first !== null && first <= 15 && offset % first === 0;
        expect(!isWholePage || service.seen().length - before === 1).toBe(true);
      },
    ),
    { numRuns: cases(40, 400) },
  );
});

test("a page in the middle that is shorter than requested is an error, since it is another part of the list", async () => {
  const service = await startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const size = Math.min(15, Number(searchParams.get("n") ?? 7));
    const from = Number(searchParams.get("p") ?? 0) * size;
    const length = Math.max(0, Math.min(size, 46 - from));
    return { json: { count: 46, results: Array.from({ length }, (_, index) => ({ id: from + index + 1 })) } };
  });
  const { ask } = await startGateway({
    upstream: service,
    env: {
      UPSTREAM_PROFILE: profileFile(
        "extends: polyaxon-0.4\npaging: {by: page, parameter: p, first: 0, size: n}",
      ),
    },
  });
  expect(errorsOf(await ask(QUERY, { first: 20, offset: 20 }))).toEqual([
    failure(
      "project.experiments",
      "UPSTREAM_BAD_RESPONSE",
      "The service's page is shorter than requested, and not the last one.",
      { upstream: { method: "GET", route: "{owner}/{project}/experiments" } },
    ),
  ]);
  expect(service.inOrder()).toEqual([`${LIST}&n=20&p=1`]);
});
