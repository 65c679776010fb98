import { expect, test } from "vitest";
import { profileFile } from "../support/tracker.ts";
import FILTERS from "./filters.json" with { type: "json" };
import { inProject, startRows } from "./rows.ts";

const listWith = (list: string, args: string) => inProject(`${list}(${args}) { totalCount }`);

const NO_RUNS = (list: string) => ({ data: { project: { [list]: { totalCount: 0 } } } });

test.each(FILTERS)(
  "translates a typed filter into the server's language: $list: $filter",
  async ({ list, filter, written }) => {
    const { ask, filters } = await startRows([]);
    expect(await ask(listWith(list, `filter: ${filter}`))).toEqual(NO_RUNS(list));
    expect(filters()).toEqual([written]);
  },
);

test("only `query` and empty filters work if the filter language is unknown", async () => {
  const { ask, service } = await startRows([], {
    UPSTREAM_PROFILE: profileFile("extends: polyaxon-0.4\nfilters: {language: null}"),
  });
  expect(await ask(listWith("jobs", 'query: "status:running", filter: {}'))).toEqual(NO_RUNS("jobs"));
  expect(service.calls()).toEqual(["GET ada/mnist/jobs?query=status%3Arunning"]);
});

test.each(["status:failed&limit=9&offset=1", "name:a b+c%20d", "tags:ü#é?x=1", ""])(
  "sends the query %j as one parameter if it is not empty",
  async (query) => {
    const { ask, service } = await startRows([{ id: 1 }]);
    await ask(listWith("jobs", `first: 3, query: "${query}"`));
    expect([...new URL(service.seen()[0]?.path ?? "", "http://service").searchParams]).toEqual([
      ["sort", "-updated_at,-created_at"],
      ...(query === "" ? [] : [["query", query]]),
      ["limit", "3"],
    ]);
  },
);
