import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";

describe("order and filter", () => {
  const query = /* GraphQL */ `
    query ($first: Int = 3, $orderBy: RunOrder, $query: String, $after: String) {
      group(id: "ada.mnist.1") {
        experiments(first: $first, orderBy: $orderBy, query: $query, after: $after) {
          nodes {
            createdAt
            updatedAt
            status
          }
          totalCount
          pageInfo {
            endCursor
          }
        }
      }
    }
  `;
  interface Runs {
    readonly group: {
      readonly experiments: {
        readonly nodes: readonly { createdAt: string; updatedAt: string; status: string }[];
        readonly totalCount: number;
        readonly pageInfo: { readonly endCursor: string };
      };
    };
  }

  test.each([
    ["UPDATED_DESC", "-updated_at,-created_at", "updatedAt", -1],
    ["CREATED_DESC", "-created_at,-updated_at", "createdAt", -1],
    ["CREATED_ASC", "created_at,-updated_at", "createdAt", 1],
  ] as const)("%s is the server's %s", async (orderBy, sort, key, direction) => {
    const { ask, calls } = await startProfile();
    const { data } = await ask<Runs, object>(query, { first: 24, orderBy });
    const times = data.group.experiments.nodes.map(({ [key]: time }) => Date.parse(time));
    expect(times).toEqual(times.toSorted((a, b) => direction * (a - b)));
    expect(new Set(times).size).toBeGreaterThan(20);
    expect(calls()).toEqual([`GET ada/mnist/experiments?group=1&sort=${sort.replace(",", "%2C")}&limit=24`]);
  });

  test("an order that the schema does not know is refused before anything is sent", async () => {
    const { ask, calls } = await startProfile();
    const { errors } = await ask(query, { orderBy: "LOSS_ASC" });
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["BAD_USER_INPUT"]);
    expect(calls()).toEqual([]);
  });

  test("are both sent again with the request for the next page", async () => {
    const { ask, calls } = await startProfile();
    const variables = { orderBy: "CREATED_ASC", query: "status:succeeded|failed" };
    const { data } = await ask<Runs, object>(query, variables);
    const { endCursor } = data.group.experiments.pageInfo;
    const { data: next } = await ask<Runs, object>(query, { ...variables, after: endCursor });
    const nodes = [...data.group.experiments.nodes, ...next.group.experiments.nodes];
    expect(nodes.map(({ status }) => status)).toEqual([
      "SUCCEEDED",
      "SUCCEEDED",
      "SUCCEEDED",
      "FAILED",
      "SUCCEEDED",
      "SUCCEEDED",
    ]);
    expect(next.group.experiments.totalCount).toBe(18);
    const asked =
      "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&query=status%3Asucceeded%7Cfailed";
    expect(calls()).toEqual([`${asked}&limit=3`, `${asked}&limit=3&offset=3`]);
  });

  test("an empty filter is not sent", async () => {
    const { ask, calls } = await startProfile();
    await ask(query, { query: "" });
    expect(calls()).toEqual(["GET ada/mnist/experiments?group=1&limit=3"]);
  });

  test.each([
    "status:failed&limit=9&offset=1",
    "name:a b+c%20d",
    "tags:ü#é?x=1",
    "created_at:>2026-03-01, status:~x|y",
  ])("the filter %j reaches the server as it is, as one parameter", async (filter) => {
    const service = await startFake(() => ({ json: { count: 0, results: [] } }));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    await ask(query, { query: filter });
    const [seen] = service.seen();
    expect([...new URL(seen?.path ?? "", "http://service").searchParams]).toEqual([
      ["group", "1"],
      ["query", filter],
      ["limit", "3"],
    ]);
  });

  test("a filter that the server refuses is BAD_USER_INPUT with its words; the rest of the answer is there", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{
      project(owner: "ada", name: "mnist") {
        experiments(query: "nonsense:1") { totalCount }
        jobs(query: "status") { totalCount }
        groups { totalCount }
      }
    }`);
    expect(answer.data).toEqual({ project: { experiments: null, jobs: null, groups: { totalCount: 2 } } });
    const upstream = { method: "GET", status: 400 };
    expect(errorsOf(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`))).toEqual([
      {
        at: "project.experiments",
        code: "BAD_USER_INPUT",
        message: "key `nonsense` is not supported by query manager `experiment`.",
        upstream: { ...upstream, route: "{owner}/{project}/experiments" },
      },
      {
        at: "project.jobs",
        code: "BAD_USER_INPUT",
        message: "Expression is not valid, it must be formatted as name:operation, Expression: status",
        upstream: { ...upstream, route: "{owner}/{project}/jobs" },
      },
    ]);
    expect(calls()).toEqual([
      "GET ada/mnist/experiments?query=nonsense%3A1",
      "GET ada/mnist/groups",
      "GET ada/mnist/jobs?query=status",
    ]);
  });
});
