import { expect, test } from "vitest";
import { pageOf, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { rowsOf, startPaging } from "../support/child-lists.ts";
import { profileFile } from "../support/tracker.ts";

/* `last` and `before` of `statuses`, and `latestStatus`. */

const PAGE = `query ($last: Int, $before: String, $first: Int, $after: String) { run(id: "ada.mnist.jobs.3") {
  statuses(last: $last, before: $before, first: $first, after: $after) {
    nodes { internalId } pageInfo { hasPreviousPage hasNextPage startCursor endCursor } totalCount
  }
} }`;

interface Page {
  readonly run: {
    readonly statuses: {
      readonly nodes: readonly { readonly internalId: string }[];
      readonly pageInfo: {
        readonly hasPreviousPage: boolean;
        readonly hasNextPage: boolean;
        readonly startCursor: string | null;
        readonly endCursor: string | null;
      };
      readonly totalCount: number | null;
    };
  };
}

type Arguments = Readonly<Record<string, number | string | null>>;

async function openHistory(rows: readonly unknown[], env: Record<string, string> = RELEASE_04) {
  const service = await startPaging(rows);
  const { ask } = await startGateway({ upstream: service, env });
  const page = async (given: Arguments) => {
    const from = service.seen().length;
    const { data, errors } = await ask<Page, Arguments>(PAGE as never, given);
    expect(errors).toBeUndefined();
    const { nodes, pageInfo, totalCount } = data.run.statuses;
    const ids = nodes.map(({ internalId }) => Number(internalId));
    return { ids, pageInfo, totalCount, calls: service.inOrder().slice(from) };
  };
  return { ask, page, service };
}

const STATUSES = "GET ada/mnist/jobs/3/statuses/";

test("reads the newest statuses with one request in a short history", async () => {
  const { page } = await openHistory(rowsOf(60));
  expect(await page({ last: 3 })).toMatchObject({
    ids: [58, 59, 60],
    pageInfo: { hasPreviousPage: true, hasNextPage: false },
    totalCount: 60,
    calls: [`${STATUSES}?limit=100`],
  });
});

test("reads the newest statuses with two requests in a long history", async () => {
  const { page } = await openHistory(rowsOf(250));
  const { ids, calls } = await page({ last: 3 });
  expect(ids).toEqual([248, 249, 250]);
  expect(calls).toEqual([`${STATUSES}?limit=100`, `${STATUSES}?limit=200&offset=200`]);
});

const WAYS: Readonly<Record<string, Record<string, string>>> = {
  "by offset": RELEASE_04,
  "by links": {},
  "by offset without sizes": {
    UPSTREAM_PROFILE: profileFile(JSON.stringify({ paging: { by: "offset", parameter: "offset" } })),
  },
};

test.each(Object.entries(WAYS))("pages through a history from its end to its start %s", async (_, env) => {
  for (const length of [0, 1, 41, 99, 100, 101, 220]) {
    const { page } = await openHistory(rowsOf(length), env);
    const walked: number[] = [];
    let before: string | null = null;
    for (let isMore = true; isMore;) {
      const { ids, pageInfo, totalCount } = await page({ last: 30, before });
      expect(ids).toHaveLength(Math.min(30, length - walked.length));
      expect(totalCount).toBe(length);
      expect(pageInfo.hasNextPage).toBe(before !== null);
      walked.unshift(...ids);
      isMore = pageInfo.hasPreviousPage;
      before = pageInfo.startCursor;
    }
    expect(walked).toEqual(rowsOf(length).map(({ id }) => id));
  }
});

test("accepts the cursors of a page in both directions", async () => {
  const { page } = await openHistory(rowsOf(50));
  const { pageInfo: middle } = await page({ first: 20 });
  const { ids, pageInfo } = await page({ last: 5, before: middle.endCursor });
  expect(ids).toEqual([15, 16, 17, 18, 19]);
  expect((await page({ first: 2, after: pageInfo.endCursor })).ids).toEqual([20, 21]);
});

test("sorts statuses with equal times by id, even from the end", async () => {
  const tied = rowsOf(30).map(({ id }) => ({ id, created_at: "2026-03-01T10:00:00Z" }));
  const { page } = await openHistory(tied.toReversed());
  expect((await page({ last: 3 })).ids).toEqual([28, 29, 30]);
});

test("includes statuses that are appended between the two requests", async () => {
  let length = 250;
  const service = await startFake((seen) => pageOf(rowsOf(length++), seen));
  const { ask } = await startGateway({ upstream: service, env: RELEASE_04 });
  const { data } = await ask<Page, Arguments>(PAGE as never, { last: 2 });
  expect(data.run.statuses.nodes).toEqual([{ internalId: "250" }, { internalId: "251" }]);
});

test.each([
  [{ last: 2, first: 2 }, "last: expected neither `first` nor `after` with it"],
  [{ last: 2, after: "x" }, "last: expected neither `first` nor `after` with it"],
  [{ before: "x" }, "before: expected `last` with it, got none"],
  [{ last: 0 }, "last: expected 1 to 500, got 0"],
  [{ last: 501 }, "last: expected 1 to 500, got 501"],
  [{ last: 2, before: "x" }, 'before: expected a cursor of this list, got "x"'],
])("refuses %o without a request", async (given, message) => {
  const { ask, service } = await openHistory([]);
  const { errors } = await ask(PAGE, given);
  expect(errors?.map((error) => [error.message, error.extensions["code"]])).toEqual([
    [message, "BAD_USER_INPUT"],
  ]);
  expect(service.seen()).toEqual([]);
});

const LATEST = `{ run(id: "ada.mnist.jobs.3") { latestStatus { status message traceback subject { reference } } } }`;

test("reads the latest status of a run with its message and traceback", async () => {
  const failed = { status: "failed", message: "exit 1", traceback: "Traceback: …" };
  const { ask, service } = await openHistory([
    { id: 1, status: "created" },
    { id: 2, ...failed },
  ]);
  const subject = { reference: "ada.mnist.jobs.3" };
  expect(await ask(LATEST)).toEqual({
    data: { run: { latestStatus: { ...failed, status: "FAILED", subject } } },
  });
  expect(service.inOrder()).toEqual([`${STATUSES}?limit=100`]);
});

test("returns null as the latest status of an empty history", async () => {
  const { ask } = await openHistory([]);
  expect(await ask(LATEST)).toEqual({ data: { run: { latestStatus: null } } });
});

test("reads the latest status and the newest statuses with one request", async () => {
  const { ask, service } = await openHistory(rowsOf(7));
  await ask(`{ run(id: "ada.mnist.jobs.3") { latestStatus { id } statuses(last: 5) { nodes { id } } } }`);
  expect(service.inOrder()).toEqual([`${STATUSES}?limit=100`]);
});
