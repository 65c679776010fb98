import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { pageOf } from "../support/fake.ts";
import { GROUP, PROJECT, row, startExports } from "../support/exported.ts";

const URLS = `{
  project(id: "ada.mnist") { experimentsUrl metricsUrl(format: NDJSON) }
  group(id: "ada.mnist.5") { experimentsUrl(format: NDJSON) metricsUrl }
}`;

test("projects and groups return the addresses of their exports", async () => {
  const { ask, url, calls } = await startExports((seen) =>
    seen.path.endsWith("/groups/5/") ? { json: { id: 5 } } : undefined,
  );
  const at = (id: string, file: string) => `${url}/export/${id}/${file}`;
  expect(await ask(URLS)).toEqual({
    data: {
      project: { experimentsUrl: at(PROJECT, "runs.csv"), metricsUrl: at(PROJECT, "metrics.ndjson") },
      group: { experimentsUrl: at(GROUP, "runs.ndjson"), metricsUrl: at(GROUP, "metrics.csv") },
    },
  });
  expect(calls()).toEqual(["GET ada/mnist/groups/5/"]);
});

const download = async (url: string): Promise<string> => {
  const response = await fetch(url, { headers: { authorization: "token t0ken" } });
  expect(response.status).toBe(200);
  return response.text();
};

/** The two runs whose parameter the gateway must compare itself, and a third one. */
const RUNS = [
  row(1, { tags: ["a&b=c"], declarations: { "a,b": 0.5 } }),
  row(2, { tags: ["ü#?+"], declarations: { "a,b": 0.5 } }),
  row(3, { tags: [], declarations: { "a,b": 1 } }),
];

test("experimentsUrl with arguments downloads the selected runs and columns", async () => {
  const { ask, inOrder } = await startExports(RUNS);
  const query = `query ($filter: RunFilter, $order: RunOrder, $columns: [String!]) { project(id: "ada.mnist") {
    experimentsUrl(format: NDJSON, filter: $filter, order: $order, query: "commit:a b", columns: $columns)
  } }`;
  const answer = await ask(query, {
    filter: {
      statuses: ["FAILED"],
      notTags: ["ü#?+"],
      createdAt: { from: "2026-01-01", before: null },
      parameters: [{ name: "a,b", values: ["0.5"] }],
    },
    order: { by: { field: "CREATED_AT" }, direction: "DESC" },
    columns: ["uniqueName", "parameter.a,b"],
  });
  expect(inOrder()).toEqual([]);
  const { experimentsUrl } = (answer.data as { project: { experimentsUrl: string } }).project;
  expect(await download(experimentsUrl)).toBe(
    `{"uniqueName":"ada.mnist.1","parameter.a,b":0.5}\n{"uniqueName":"ada.mnist.2","parameter.a,b":0.5}\n`,
  );
  const sentQuery = "status:failed,tags:~ü#?+,created_at:>=2026-01-01,commit:a b";
  const parameters = new URLSearchParams({ sort: "-created_at,-updated_at", query: sentQuery, limit: "500" });
  expect(inOrder()).toEqual([`GET ada/mnist/experiments?${parameters}`]);
});

test("metricsUrl with arguments downloads the selected metrics and columns", async () => {
  const { ask, calls } = await startExports((seen) =>
    pageOf(
      seen.path.includes("/metrics") ? [{ id: 1, values: { loss: 0.5, "a,b": 2, c: 3 } }] : [row(1)],
      seen,
    ),
  );
  const answer = await ask(`{ project(id: "ada.mnist") {
    metricsUrl(filter: { tags: "x" }, order: { by: { metric: "loss" }, direction: ASC }, names: ["loss", "a,b"], columns: ["metric", "value"])
  } }`);
  const { metricsUrl } = (answer.data as { project: { metricsUrl: string } }).project;
  expect(await download(metricsUrl)).toBe('metric,value\r\n"a,b",2\r\nloss,0.5\r\n');
  expect(calls()).toHaveLength(2);
});

test("arguments that are too long for a URL are refused", async () => {
  const { ask } = await startExports([]);
  const query = `query ($tags: [String!]) { project(id: "ada.mnist") { name experimentsUrl(filter: { tags: $tags }) } }`;
  expect(outcomeOf(await ask(query, { tags: ["x".repeat(12_000)] }))).toEqual({
    data: { project: { name: "mnist", experimentsUrl: null } },
    errors: [
      failure(
        "project.experimentsUrl",
        "BAD_USER_INPUT",
        expect.stringMatching(
          /^expected arguments for a URL of at most 12000 characters, got 121\d\d$/,
        ) as string,
      ),
    ],
  });
});

test.each([
  ["%C3%A4da.mnist", 200],
  ["ada%2Emnist", 200],
  ["ada.mn%2Fist", 400],
  ["ada.%ff", 400],
  ["ada.%00", 400],
])("a name in an export URL can be percent-encoded: %s", async (name, status) => {
  const { get } = await startExports([row(1)]);
  expect((await get(`${name}/runs.csv?columns=uniqueName`)).status).toBe(status);
});

test("an export URL accepts a name instead of an id", async () => {
  const { get, calls } = await startExports([row(1)]);
  for (const name of ["ada.mnist", "ada.mnist.5"]) {
    const response = await get(`${name}/runs.csv?columns=uniqueName`);
    expect(await response.text()).toBe("uniqueName\r\nada.mnist.1\r\n");
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}.runs.csv"`);
  }
  expect(calls()).toEqual([
    "GET ada/mnist/experiments?group=5&sort=created_at%2C-updated_at&limit=500",
    "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500",
  ]);
});
