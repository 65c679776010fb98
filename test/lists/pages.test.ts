import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startFake, startRecords, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";

interface Page {
  readonly nodes: readonly { readonly internalId: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly internalId: string } }[];
  readonly totalCount: number | null;
}

/** The fields that are lists, and where the service has them. */
const LISTS = {
  "Experiment.statuses": [`experiment(id: "ada.mnist.42")`, "statuses", "ada/mnist/experiments/42/statuses"],
  "Experiment.metrics": [`experiment(id: "ada.mnist.42")`, "metrics", "ada/mnist/experiments/42/metrics"],
  "Experiment.jobs": [`experiment(id: "ada.mnist.42")`, "jobs", "ada/mnist/experiments/42/jobs"],
  "ExperimentJob.statuses": [
    `experimentJob(id: "ada.mnist.42.7.master")`,
    "statuses",
    "ada/mnist/experiments/42/jobs/7/statuses/",
  ],
  "Job.statuses": [`job(id: "ada.mnist.jobs.3")`, "statuses", "ada/mnist/jobs/3/statuses/"],
  "BuildJob.statuses": [`buildJob(id: "ada.mnist.builds.9")`, "statuses", "ada/mnist/builds/9/statuses"],
  "Group.statuses": [`group(id: "ada.mnist.5")`, "statuses", "ada/mnist/groups/5/statuses"],
} as const;
type List = keyof typeof LISTS;
const STATUSES: List = "Experiment.statuses";
const ROUTE = "{owner}/{project}/experiments/{id}/statuses";

/** An operation on one list, with `$first` and `$after`. */
const pageOf = (list: List) => `query ($first: Int, $after: String) {
  thing: ${LISTS[list][0]} {
    page: ${LISTS[list][1]}(first: $first, after: $after) {
      nodes { internalId }
      edges { cursor node { internalId } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
}`;

interface Wanted {
  readonly first?: number;
  readonly after?: string | null;
}
type Pages = Answer<{ thing: { page: Page | null } }>;

/** What went wrong with a page: the whole error but its place in the text. */
const errorsOf = ({ errors }: Pages) =>
  errors?.map(({ message, path, extensions }) => ({ message, path, extensions }));

/** A gateway whose request ids are all `story-1`, and one list of it. */
async function open(
  service: { readonly url: string },
  list: List = STATUSES,
  env: Record<string, string> = {},
) {
  const { ask } = await startGateway({ upstream: service, env });
  const tryPage = async (wanted: Wanted = {}) =>
    (await ask(pageOf(list), wanted, { headers: { "x-request-id": "story-1" } })) as Pages;
  const page = async (wanted: Wanted = {}): Promise<Page> => {
    const answer = await tryPage(wanted);
    if (!answer.data.thing.page) throw new Error(`no page: ${JSON.stringify(answer.errors)}`);
    return answer.data.thing.page;
  };
  return { ask, page, tryPage };
}

const rowsOf = (length: number) => Array.from({ length }, (_, index) => ({ id: index + 1 }));
const idsOf = ({ nodes }: Page) => nodes.map(({ internalId }) => Number(internalId));

/**
 * A service that pages by `limit` and `offset`, as known servers do: links are made from a Host header, which may
 * name anybody.
 */
function startPaging(rows: readonly unknown[], size = 20, host = "http://internal.example:8000") {
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

describe("without `first`", () => {
  test.each(Object.keys(LISTS) as List[])(
    "%s is the first page of the service, in exactly one request",
    async (list) => {
      const service = await startPaging(rowsOf(45));
      const { page } = await open(service, list);
      const first = await page();
      expect(idsOf(first)).toEqual(rowsOf(20).map(({ id }) => id));
      expect(first).toMatchObject({
        pageInfo: { hasNextPage: true, hasPreviousPage: false },
        totalCount: 45,
      });
      expect(service.calls()).toEqual([`GET ${LISTS[list][2]}`]);
    },
  );

  test("and with `after` it is the next page, in exactly one request", async () => {
    const service = await startPaging(rowsOf(45));
    const { page } = await open(service);
    const { pageInfo } = await page();
    const second = await page({ after: pageInfo.endCursor });
    expect(idsOf(second)).toEqual(
      rowsOf(40)
        .map(({ id }) => id)
        .slice(20),
    );
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    const last = await page({ after: second.pageInfo.endCursor });
    expect(idsOf(last)).toEqual([41, 42, 43, 44, 45]);
    expect(last.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments/42/statuses",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=20",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=40",
    ]);
  });

  test("behind an item in the middle of a page it is the rest of that page", async () => {
    const service = await startPaging(rowsOf(45));
    const { page } = await open(service);
    const { edges } = await page();
    const rest = await page({ after: edges[16]?.cursor ?? "" });
    expect(idsOf(rest)).toEqual([18, 19, 20]);
    expect(rest.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    expect(service.calls()).toHaveLength(2);
  });

  test("an empty list is empty", async () => {
    const service = await startPaging([]);
    const { page } = await open(service);
    expect(await page()).toEqual({
      nodes: [],
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      totalCount: 0,
    });
  });
});

describe("with `first`", () => {
  test("pages are walked until there are so many, and no further", async () => {
    const service = await startPaging(rowsOf(100));
    const { page } = await open(service);
    const found = await page({ first: 45 });
    expect(idsOf(found)).toEqual(rowsOf(45).map(({ id }) => id));
    expect(found).toMatchObject({ pageInfo: { hasNextPage: true, hasPreviousPage: false }, totalCount: 100 });
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments/42/statuses",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=20",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=40",
    ]);
  });

  test("no page is read beyond one that ends exactly there", async () => {
    const service = await startPaging(rowsOf(60));
    const { page } = await open(service);
    const found = await page({ first: 40 });
    expect(idsOf(found)).toHaveLength(40);
    expect(found.pageInfo.hasNextPage).toBe(true);
    expect(service.calls()).toHaveLength(2);
  });

  test("a shorter list ends where it ends", async () => {
    const service = await startPaging(rowsOf(30));
    const { page } = await open(service);
    const found = await page({ first: 500 });
    expect(idsOf(found)).toHaveLength(30);
    expect(found.pageInfo.hasNextPage).toBe(false);
    expect(service.calls()).toHaveLength(2);
  });

  test("the cursors of the page are those of its first and last item", async () => {
    const { page } = await open(await startPaging(rowsOf(30)));
    const { edges, pageInfo } = await page({ first: 25 });
    expect(pageInfo.startCursor).toBe(edges[0]?.cursor);
    expect(pageInfo.endCursor).toBe(edges[24]?.cursor);
    expect(new Set(edges.map(({ cursor }) => cursor)).size).toBe(25);
  });

  test("a cursor of one gateway is good at another", async () => {
    const service = await startPaging(rowsOf(45));
    const one = await open(service);
    const other = await open(service);
    const { pageInfo } = await one.page({ first: 7 });
    expect(idsOf(await other.page({ first: 2, after: pageInfo.endCursor }))).toEqual([8, 9]);
  });

  test("behind the end of a list is nothing, until it grows", async () => {
    const rows = rowsOf(3);
    const { page } = await open(await startPaging(rows));
    const { pageInfo } = await page({ first: 3 });
    expect(await page({ first: 3, after: pageInfo.endCursor })).toMatchObject({
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true },
    });
    rows.push({ id: 4 });
    expect(idsOf(await page({ first: 3, after: pageInfo.endCursor }))).toEqual([4]);
  });
});

describe("a walk from cursor to cursor", () => {
  const step = fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined });

  test("gives every item once and in order, in steps of any size through pages of any size", async () => {
    let rows: readonly { id: number }[] = [];
    let size = 1;
    const service = await startFake(({ path }) => {
      const offset = Number(new URL(path, "http://service").searchParams.get("offset") ?? 0);
      const next = offset + size < rows.length ? `http://internal.example/x?offset=${offset + size}` : null;
      const previous = offset > 0 ? "http://internal.example/x" : null;
      return { json: { count: rows.length, next, previous, results: rows.slice(offset, offset + size) } };
    });
    const { ask } = await startGateway({ upstream: service });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...(Object.keys(LISTS) as List[])),
        fc.nat({ max: 30 }),
        fc.integer({ min: 1, max: 9 }),
        fc.array(step, { minLength: 1, maxLength: 5 }),
        async (list, length, pageSize, steps) => {
          rows = rowsOf(length);
          size = pageSize;
          const walked: number[] = [];
          let after: string | null = null;
          let more = true;
          for (let taken = 0; more && taken <= length; taken++) {
            const first = steps[taken % steps.length];
            const { data } = (await ask(pageOf(list), { first, after })) as Pages;
            const page = data.thing.page;
            if (!page) throw new Error("no page");
            const wanted = first ?? size - (walked.length % size);
            expect(page.nodes.length).toBe(Math.min(wanted, length - walked.length));
            expect(page.pageInfo.hasPreviousPage).toBe(walked.length > 0);
            walked.push(...idsOf(page));
            expect(page.pageInfo.hasNextPage).toBe(walked.length < length);
            expect(page.totalCount).toBe(length);
            after = page.pageInfo.endCursor;
            more = page.pageInfo.hasNextPage;
          }
          expect(walked).toEqual(rows.map(({ id }) => id));
        },
      ),
      { numRuns: cases(15, 60) },
    );
  });
});

describe("of the link to the next page", () => {
  /** The second request that a link causes: path and query, or nothing. */
  async function secondOf(next: unknown) {
    const other = await startFake(() => ({ json: { results: [{ id: 2 }] } }));
    const service = await startFake(({ path }): Told => {
      const isFirst = path.endsWith("/statuses");
      const link = typeof next === "string" ? next.replace("OTHER", other.url) : next;
      return { json: { results: [{ id: isFirst ? 1 : 2 }], next: isFirst ? link : null } };
    });
    const { tryPage } = await open(service);
    const answer = await tryPage({ first: 2 });
    expect(other.calls()).toEqual([]);
    return { answer, second: service.seen()[1]?.path, headers: service.seen()[1]?.headers };
  }

  test.each([
    ["another host", "OTHER/api/v1/ada/mnist/experiments/42/statuses?offset=1", "offset=1"],
    ["another path", "/api/v1/users/token/?offset=1", "offset=1"],
    ["a climbing path", "../../../../../x?offset=1", "offset=1"],
    ["another scheme", "file:///etc/passwd?offset=1", "offset=1"],
    ["a user", "http://user:canary@internal.example/x?offset=1", "offset=1"],
    ["a query alone", "?offset=1", "offset=1"],
    ["a fragment", "http://internal.example/x?offset=1#canary", "offset=1"],
    ["other parameters", "/x?offset=1&query=status:running&sort=id&token=canary&limit=5", "limit=5&offset=1"],
    ["a parameter twice", "/x?offset=1&offset=2", "offset=1"],
    ["a page number", "/x?page=2&page_size=10", "page=2&page_size=10"],
    ["a cursor", "/x?cursor=cD0yMDI2&x=1", "cursor=cD0yMDI2"],
    [
      "signs that mean something",
      "/x?cursor=a%26b%3D%23%2F..%0d%0aX:1",
      "cursor=a%26b%3D%23%2F..%0D%0AX%3A1",
    ],
  ])("only known parameters are taken: %s", async (_, next, query) => {
    const { answer, second, headers } = await secondOf(next);
    expect(answer.data.thing.page && idsOf(answer.data.thing.page)).toEqual([1, 2]);
    expect(second).toBe(`/api/v1/ada/mnist/experiments/42/statuses?${query}`);
    expect(Object.keys(headers ?? {}).toSorted()).toEqual([
      "accept",
      "authorization",
      "connection",
      "host",
      "x-request-id",
    ]);
  });

  test.each([
    ["null", null],
    ["nothing", undefined],
    ["an empty text", ""],
    ["a number", 7],
    ["an object", { href: "/x?offset=1" }],
  ])("%s means that there is none", async (_, next) => {
    const { answer, second } = await secondOf(next);
    expect(answer.data.thing.page).toMatchObject({
      nodes: [{ internalId: "1" }],
      pageInfo: { hasNextPage: false },
    });
    expect(second).toBeUndefined();
  });

  test.each(["http://[", "http://:80x/?offset=1", "//"])(
    "one that is no URL is an error: %s",
    async (next) => {
      const { answer, second } = await secondOf(next);
      expect(answer.data).toEqual({ thing: { page: null } });
      expect(errorsOf(answer)).toEqual([
        {
          message: "The service's link to the next page cannot be read.",
          path: ["thing", "page"],
          extensions: {
            code: "UPSTREAM_BAD_RESPONSE",
            requestId: "story-1",
            upstream: { method: "GET", route: ROUTE },
          },
        },
      ]);
      expect(second).toBeUndefined();
    },
  );
});

const circle = {
  message: "The service's page links lead in a circle.",
  path: ["thing", "page"],
  extensions: {
    code: "UPSTREAM_BAD_RESPONSE",
    requestId: "story-1",
    upstream: { method: "GET", route: ROUTE },
  },
};

describe("page links that lead in a circle end the walk with an error", () => {
  test.each([
    ["to the same page", ["?offset=1", "?offset=1"], 2],
    ["to the first page", ["?"], 1],
    ["to a page without known parameters", ["?query=x"], 1],
    ["round three pages", ["?offset=1", "?offset=2", "?offset=3", "?offset=1"], 4],
    ["round two pages in other words", ["?offset=1&limit=5", "?limit=5&offset=1&x=2"], 2],
  ])("%s", async (_, links, requests) => {
    let asked = 0;
    const service = await startFake(() => ({
      json: { results: [{ id: asked + 1 }], next: links[asked++] ?? links.at(-1) },
    }));
    const { tryPage } = await open(service);
    const answer = await tryPage({ first: 500 });
    expect(answer.data).toEqual({ thing: { page: null } });
    expect(errorsOf(answer)).toEqual([circle]);
    expect(service.calls()).toHaveLength(requests);
  });
});

describe("a list of very many pages", () => {
  test("is walked through a hundred of them", async () => {
    const service = await startPaging(rowsOf(100), 1);
    const { page } = await open(service);
    expect(idsOf(await page({ first: 500 }))).toHaveLength(100);
    expect(service.calls()).toHaveLength(100);
  });

  test("is PAGE_LIMIT_REACHED behind that", async () => {
    const service = await startPaging(rowsOf(101), 1);
    const { tryPage } = await open(service);
    const answer = await tryPage({ first: 500 });
    expect(answer.data).toEqual({ thing: { page: null } });
    expect(errorsOf(answer)).toEqual([
      {
        message: "More than 100 pages; ask for fewer items at once.",
        path: ["thing", "page"],
        extensions: {
          code: "PAGE_LIMIT_REACHED",
          requestId: "story-1",
          upstream: { method: "GET", route: ROUTE },
        },
      },
    ]);
    expect(service.calls()).toHaveLength(100);
  });

  test("of empty pages ends too", async () => {
    let asked = 0;
    const service = await startFake(() => ({ json: { results: [], next: `?offset=${++asked}` } }));
    const { tryPage } = await open(service);
    expect(errorsOf(await tryPage({ first: 1 }))?.map(({ extensions }) => extensions["code"])).toEqual([
      "PAGE_LIMIT_REACHED",
    ]);
    expect(asked).toBe(100);
  });

  test("is read as far as the budget of the operation goes", async () => {
    const service = await startPaging(rowsOf(10), 1);
    const { tryPage } = await open(service, STATUSES, { MAX_UPSTREAM_REQUESTS: "3" });
    expect(errorsOf(await tryPage({ first: 10 }))?.map(({ extensions }) => extensions["code"])).toEqual([
      "REQUEST_LIMIT_EXCEEDED",
    ]);
    expect(service.calls()).toHaveLength(3);
  });
});

describe("a page that is none", () => {
  const noPage =
    "The service's answer cannot be used: results is missing or of another type than documented.";

  test.each([
    ["without results", { count: 1 }, noPage],
    ["with results that are an object", { results: { 0: { id: 1 } } }, noPage],
    ["with results that are text", { results: "canary" }, noPage],
    ["with results that are null", { results: null }, noPage],
    ["that is a bare list", [{ id: 1 }], "Expected a JSON object from the service, got something else."],
  ])("%s is UPSTREAM_BAD_RESPONSE", async (_, body, message) => {
    const { tryPage } = await open(await startFake(() => ({ json: body })));
    const answer = await tryPage();
    expect(answer.data).toEqual({ thing: { page: null } });
    expect(errorsOf(answer)).toEqual([
      {
        message,
        path: ["thing", "page"],
        extensions: {
          code: "UPSTREAM_BAD_RESPONSE",
          requestId: "story-1",
          upstream: { method: "GET", route: ROUTE, status: 200 },
        },
      },
    ]);
  });

  test.each([
    ["text", "many"],
    ["a fraction", 1.5],
    ["null", null],
    ["a number beyond 32 bits", 3_000_000_000],
  ])("that counts %s has no totalCount and is a page all the same", async (_, count) => {
    const { tryPage } = await open(await startFake(() => ({ json: { count, results: [{ id: 1 }] } })));
    const answer = await tryPage();
    expect(answer.errors).toBeUndefined();
    expect(answer.data.thing.page).toMatchObject({ nodes: [{ internalId: "1" }], totalCount: null });
  });
});

const METRICS = "ada/mnist/experiments/42/metrics";

interface Series {
  readonly name: string;
  readonly totalPoints: number;
  readonly times: readonly (string | null)[];
  readonly values: readonly (number | null)[];
}

/** A series as it is asked for with `names` and `maxPoints`. */
async function openSeries(service: { readonly url: string }) {
  const { ask } = await startGateway({ upstream: service });
  return async (wanted: { names?: readonly string[]; maxPoints?: number } = {}) => {
    const { data, errors } = (await ask(
      `query ($names: [String!], $maxPoints: Int) {
        experiment(id: "ada.mnist.42") {
          metricSeries(names: $names, maxPoints: $maxPoints) { name totalPoints times values }
        }
      }`,
      wanted,
    )) as Answer<{ experiment: { metricSeries: readonly Series[] | null } }>;
    expect(errors).toBeUndefined();
    return data.experiment.metricSeries;
  };
}

const time = (second: number) => new Date(second * 1_000).toISOString();
const recording = (second: number, values: unknown) => ({ id: second + 1, created_at: time(second), values });

describe("metricSeries", () => {
  test("is one column a metric over all pages, ordered by name", async () => {
    const rows = Array.from({ length: 45 }, (_, second) =>
      recording(second, { loss: second, ...(second % 2 === 0 ? { accuracy: 0 - second } : {}) }),
    );
    const service = await startPaging(rows);
    const series = await openSeries(service);
    const all = rows.map((_, second) => second);
    const even = all.filter((second) => second % 2 === 0);
    expect(await series()).toEqual([
      {
        name: "accuracy",
        totalPoints: 23,
        times: even.map(time),
        values: even.map((second) => 0 - second),
      },
      { name: "loss", totalPoints: 45, times: all.map(time), values: all },
    ]);
    expect(service.calls()).toEqual([
      `GET ${METRICS}`,
      `GET ${METRICS}?limit=20&offset=20`,
      `GET ${METRICS}?limit=20&offset=40`,
    ]);
  });

  test("has only the metrics that are asked for, and none that is not there", async () => {
    const series = await openSeries(
      await startRecords({ [METRICS]: { results: [recording(0, { loss: 1, accuracy: 2 })] } }),
    );
    const found = await series({ names: ["loss", "nothing", "loss"] });
    expect(found?.map(({ name }) => name)).toEqual(["loss"]);
    expect(await series({ names: [] })).toEqual([]);
  });

  test("shows what is no finite number as null, and counts it", async () => {
    const text = `{"results": [
      {"id": 1, "created_at": "t1", "values": {"loss": 1.5}},
      {"id": 2, "created_at": "t2", "values": {"loss": NaN}},
      {"id": 3, "created_at": "t3", "values": {"loss": "high"}},
      {"id": 4, "created_at": "t4", "values": {"loss": {"a": 1}}},
      {"id": 5, "created_at": "t5", "values": {"loss": -Infinity}},
      {"id": 6, "created_at": "t6", "values": {"loss": 1e999}},
      {"id": 7, "created_at": null, "values": {"loss": 1e308}}
    ]}`;
    const series = await openSeries(await startFake(() => ({ text })));
    expect(await series()).toEqual([
      {
        name: "loss",
        totalPoints: 7,
        times: ["t1", "t2", "t3", "t4", "t5", "t6", null],
        values: [1.5, null, null, null, null, null, 1e308],
      },
    ]);
  });

  test("keeps metrics of any name", async () => {
    const names = ["", "__proto__", "a b", "constructor", "hasOwnProperty", "toString", "ü/😀"];
    const values = `{${names.map((name, index) => `${JSON.stringify(name)}: ${index}`).join(", ")}}`;
    // The wrong type beside them makes the reader mend the page, which must not lose them.
    const service = await startFake(() => ({
      text: `{"results": [{"id": 1, "created_at": 7, "values": ${values}}]}`,
    }));
    const series = await openSeries(service);
    expect((await series())?.map(({ name, values: column }) => [name, column])).toEqual(
      names.map((name, index) => [name, [index]]),
    );
    expect((await series({ names: ["__proto__", "constructor"] }))?.map(({ name }) => name)).toEqual([
      "__proto__",
      "constructor",
    ]);
  });

  test("of records without values is empty", async () => {
    const series = await openSeries(
      await startRecords({
        [METRICS]: { results: [{ id: 1 }, { id: 2, values: null }, { id: 3, values: [1] }] },
      }),
    );
    expect(await series()).toEqual([]);
  });

  test("is not thinned when it fits", async () => {
    const rows = Array.from({ length: 500 }, (_, second) => recording(second, { loss: second }));
    const series = await openSeries(await startPaging(rows, 500));
    expect((await series())?.[0]?.values).toHaveLength(500);
  });

  test("keeps a peak where it was when it is thinned", async () => {
    const rows = Array.from({ length: 1_000 }, (_, second) =>
      recording(second, { loss: second === 617 ? 1_000 : second % 2 }),
    );
    const series = await openSeries(await startPaging(rows, 1_000));
    const [loss] = (await series({ maxPoints: 20 })) ?? [];
    expect(loss?.totalPoints).toBe(1_000);
    expect(loss?.values).toHaveLength(20);
    expect(loss?.times[loss.values.indexOf(1_000)]).toBe(time(617));
  });

  test("thinned in any way has at most maxPoints of its points, the first and the last among them, in order", async () => {
    let results: unknown[] = [];
    const series = await openSeries(await startFake(() => ({ json: { results } })));
    const value = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom(1.7e308, -1.7e308, 5e-324),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 2, max: 20 }),
        async (values, maxPoints) => {
          results = values.map((loss, second) => recording(second, { loss }));
          const [loss] = (await series({ maxPoints })) ?? [];
          if (!loss) throw new Error("no series");
          expect(loss.totalPoints).toBe(values.length);
          expect(loss.times).toHaveLength(Math.min(maxPoints, values.length));
          expect(loss.values).toHaveLength(loss.times.length);
          const seconds = loss.times.map((at) => Date.parse(at ?? "") / 1_000);
          expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
          expect(new Set(seconds).size).toBe(seconds.length);
          expect([seconds[0], seconds.at(-1)]).toEqual([0, values.length - 1]);
          expect(loss.values).toEqual(seconds.map((second) => (values[second] ?? 0) + 0));
        },
      ),
      { numRuns: cases(25, 100) },
    );
  });
});

test("metrics and lastMetric keep any name, a value as it came and a number when it is one", async () => {
  const service = await startFake(({ path }) => ({
    text: path.endsWith("metrics")
      ? `{"count": 1, "results": [{"id": 1, "values": {"__proto__": 1, "constructor": "high"}}]}`
      : `{"id": 42, "name": 7, "last_metric": {"__proto__": {"a": 1}, "constructor": 2}}`,
  }));
  const { ask } = await startGateway({ upstream: service });
  expect(
    await ask(`{
      experiment(id: "ada.mnist.42") {
        lastMetric { name value raw }
        proto: lastMetricValue(name: "__proto__")
        constructor: lastMetricValue(name: "constructor")
        absent: lastMetricValue(name: "toString")
        metrics { nodes { values { name value raw } value(name: "__proto__") absent: value(name: "toString") } }
      }
    }`),
  ).toEqual({
    data: {
      experiment: {
        lastMetric: [
          { name: "__proto__", value: null, raw: { a: 1 } },
          { name: "constructor", value: 2, raw: 2 },
        ],
        proto: null,
        constructor: 2,
        absent: null,
        metrics: {
          nodes: [
            {
              values: [
                { name: "__proto__", value: 1, raw: 1 },
                { name: "constructor", value: null, raw: "high" },
              ],
              value: 1,
              absent: null,
            },
          ],
        },
      },
    },
  });
});
