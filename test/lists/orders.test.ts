import { expect, test } from "vitest";
import type { Answer } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { startProfile } from "../support/profiles.ts";
import { inProject, startRows } from "./rows.ts";

const QUERY = `query ($first: Int = 3, $order: RunOrder, $query: String, $after: String) {
  group(id: "ada.mnist.1") {
    experiments(first: $first, order: $order, query: $query, after: $after) {
      nodes { createdAt status }
      totalCount
      pageInfo { endCursor }
    }
  }
}`;

const listOf = (answer: Answer<unknown>) => listIn(answer, "group.experiments");

test.each(
  ["UPDATED", "CREATED", "STARTED", "FINISHED"].flatMap((date) => [
    [date, "DESC", `-${date.toLowerCase()}_at`],
    [date, "ASC", `${date.toLowerCase()}_at`],
  ]),
)(
  "the order by %s_AT %s is the server's, with a second key among equal ones",
  async (date, direction, sort) => {
    const { ask, service } = await startRows([]);
    await ask(inProject(`experiments(order: { field: ${date}_AT, direction: ${direction} }) { totalCount }`));
    const second = date === "CREATED" ? "-updated_at" : "-created_at";
    expect(service.seen()[0]?.path).toBe(`/api/v1/ada/mnist/experiments?sort=${sort}%2C${second}`);
  },
);

const TIED = "?sort=-updated_at%2C-created_at";

test.each([
  ["polyaxon-0.2", TIED],
  ["polyaxon-0.4", TIED],
  // Nobody knows the order of another server, nor whether it has a second key.
  [profileFile("extends: polyaxon-0.4\norders: {DEFAULT: null}"), ""],
])(
  "a list without an order is asked for in the server's own, with a second key: %s",
  async (profile, sort) => {
    const { ask, service } = await startRows([{ id: 1 }], { UPSTREAM_PROFILE: profile });
    const listed = (after: string | null) =>
      ask(
        `query ($after: String) { group(id: "ada.mnist.1") {
        experiments(first: 1, after: $after) { nodes { internalId } pageInfo { endCursor } }
      } project(id: "ada.mnist") { jobs { totalCount } } }`,
        { after },
      );
    const { endCursor } = listIn(await listed(null), "group.experiments").pageInfo;
    await listed(endCursor);
    const group = `/api/v1/ada/mnist/experiments?group=1${sort.replace("?", "&")}&limit=1`;
    const jobs = `/api/v1/ada/mnist/jobs${sort}`;
    const seen = service.seen().map(({ path }) => path);
    expect(seen.toSorted()).toEqual([group, `${group}&offset=1`, jobs, jobs]);
  },
);

test.each(["ASC", "DESC"])("runs by CREATED_AT %s come in that order", async (direction) => {
  const { ask } = await startProfile();
  const { nodes } = listOf(await ask(QUERY, { first: 24, order: { field: "CREATED_AT", direction } }));
  const times = nodes.map(({ createdAt }) => Date.parse(`${createdAt}`));
  expect(times).toEqual(times.toSorted((a, b) => (direction === "ASC" ? a - b : b - a)));
  expect(new Set(times).size).toBeGreaterThan(20);
});

test("order and filter are sent again with the request for the next page", async () => {
  const { ask, calls } = await startProfile();
  const variables = { order: { field: "CREATED_AT", direction: "ASC" }, query: "status:succeeded|failed" };
  const first = listOf(await ask(QUERY, variables));
  const next = listOf(await ask(QUERY, { ...variables, after: first.pageInfo.endCursor }));
  const nodes = [...first.nodes, ...next.nodes];
  const [good, bad] = ["SUCCEEDED", "FAILED"];
  expect(nodes.map(({ status }) => status)).toEqual([good, good, good, bad, good, good]);
  expect(next.totalCount).toBe(18);
  const asked =
    "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&query=status%3Asucceeded%7Cfailed";
  expect(calls()).toEqual([`${asked}&limit=3`, `${asked}&limit=3&offset=3`]);
});
