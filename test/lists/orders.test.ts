import { expect, test } from "vitest";
import type { Answer } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
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
    const { ask, calls } = await startRows([]);
    await ask(inProject(`experiments(order: { field: ${date}_AT, direction: ${direction} }) { totalCount }`));
    const second = date === "CREATED" ? "-updated_at" : "-created_at";
    expect(calls()).toEqual([`GET ada/mnist/experiments?sort=${sort}%2C${second}`]);
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
