import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { pathIn, type Seen, type FakeResponse } from "../support/fake.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { RELEASE_02, RELEASE_04, startBefore } from "../support/gateway.ts";
import { seeded } from "../support/seeded.ts";

/* Lists that are too large for one response. */

const METRICS = "ada/mnist/experiments/42/metrics";

const time = (second: number) => new Date(second * 1_000).toISOString();

/** Records of a metric. The value of each is its index. `equal` consecutive records have the same time. */
const recordings = (count: number, equal = 1) =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    created_at: time(Math.floor(index / equal)),
    values: { loss: index },
    experiment: 42,
  }));

/**
 * Returns the requested page, or all rows without a limit. Records with the same time change their order with each response, as in
 * PostgreSQL.
 */
function createLister(rows: readonly { readonly created_at: string }[]) {
  const random = seeded(7);
  return ({ path }: Pick<Seen, "path">) => {
    const { searchParams } = new URL(path, "http://service");
    const offset = Number(searchParams.get("offset") ?? 0);
    const end = offset + Number(searchParams.get("limit") ?? rows.length);
    const results: object[] = [];
    for (let from = 0, to = 1; from < rows.length; from = to++) {
      while (rows[to]?.created_at === rows[from]?.created_at) to++;
      const first = from + Math.floor(random() * (to - from));
      results.push(...rows.slice(first, to), ...rows.slice(from, first));
    }
    return { count: rows.length, next: null, results: results.slice(offset, end) };
  };
}

/** The error of a field whose response on this route exceeds that length. */
const tooLong = (at: string, route: string, limit: string) =>
  failure(at, "UPSTREAM_BAD_RESPONSE", `The service's answer is longer than ${limit}.`, {
    upstream: { method: "GET", route: `{owner}/{project}/experiments${route}` },
  });

const SUMMARY = `{ experiment(id: "ada.mnist.42") { metricSummaries { name count min { value } max { value } mean }
  metricSeries(maxPoints: 2) { totalPoints values } } }`;

const summaryOf = (count: number) => ({
  data: {
    experiment: {
      metricSummaries: [
        {
          name: "loss",
          count,
          min: { value: 0 },
          max: { value: count - 1 },
          mean: expect.closeTo((count - 1) / 2, 8),
        },
      ],
      metricSeries: [{ totalPoints: count, values: [expect.any(Number), expect.any(Number)] }],
    },
  },
});

describe("metric records of a long run", () => {
  test.each([
    ["0.2", RELEASE_02],
    ["0.4", RELEASE_04],
  ])("are paged with release %s, and each record is read once", async (_, env) => {
    const list = createLister(recordings(120_000, 7));
    const { ask, service } = await startBefore((seen) => ({ json: list(seen) }), env);
    expect(await ask(SUMMARY)).toEqual(summaryOf(120_000));
    const pages = [
      `GET ${METRICS}?limit=40000`,
      `GET ${METRICS}?limit=40000&offset=39998`,
      `GET ${METRICS}?limit=40000&offset=79996`,
      `GET ${METRICS}?limit=40000&offset=119994`,
    ];
    expect(service.inOrder()).toEqual([`GET ${METRICS}`, ...pages]);
    // The caller's next operation does not try to read all of them in one request again.
    expect(await ask(SUMMARY)).toEqual(summaryOf(120_000));
    expect(service.inOrder().slice(5)).toEqual(pages);
  });

  test("take one request when they fit into one response", async () => {
    const list = createLister(recordings(1_000, 7));
    const { ask, service } = await startBefore((seen) => ({ json: list(seen) }), RELEASE_04);
    expect(await ask(SUMMARY)).toEqual(summaryOf(1_000));
    expect(service.inOrder()).toEqual([`GET ${METRICS}`]);
  });

  test("are read in smaller pages if a compressed page is too large", async () => {
    const list = createLister(recordings(3_000));
    const { ask, service } = await startBefore(
      (seen) => ({
        text: gzipSync(JSON.stringify(list(seen))),
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      }),
      { ...RELEASE_04, MAX_JSON_BYTES: "100000" },
    );
    expect(await ask(SUMMARY)).toEqual(summaryOf(3_000));
    expect(service.inOrder()).toEqual([
      `GET ${METRICS}`,
      ...[
        "40000",
        "10000",
        "2500",
        "625",
        "625&offset=624",
        "625&offset=1248",
        "625&offset=1872",
        "625&offset=2496",
      ].map((query) => `GET ${METRICS}?limit=${query}`),
    ]);
  });

  test("are paged above 100,000 records, even if their bytes fit", async () => {
    const list = createLister(recordings(100_001));
    const { ask, service } = await startBefore((seen) => ({ json: list(seen) }), {
      ...RELEASE_04,
      MAX_JSON_BYTES: "100000000",
    });
    expect(await ask(SUMMARY)).toEqual(summaryOf(100_001));
    expect(service.inOrder()).toHaveLength(4);
  });

  test("are limited to MAX_PAGE_SIZE without `first` if a page is too large", async () => {
    const list = createLister(recordings(3_000));
    const { ask, service } = await startBefore((seen) => ({ json: list(seen) }), {
      ...RELEASE_04,
      MAX_JSON_BYTES: "100000",
      MAX_PAGE_SIZE: "3",
    });
    const page = `query ($after: String) { experiment(id: "ada.mnist.42") {
      metrics(after: $after) { totalCount nodes { internalId } pageInfo { hasNextPage endCursor } } } }`;
    interface Page {
      readonly experiment: { readonly metrics: { readonly pageInfo: { readonly endCursor: string } } };
    }
    const first = await ask<Page, object>(page, {});
    const { endCursor } = first.data.experiment.metrics.pageInfo;
    const second = await ask<Page, object>(page, { after: endCursor });
    const expected = (...ids: number[]) => ({
      data: {
        experiment: {
          metrics: {
            totalCount: 3_000,
            nodes: ids.map((id) => ({ internalId: `${id}` })),
            pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
          },
        },
      },
    });
    expect([first, second]).toEqual([expected(1, 2, 3), expected(4, 5, 6)]);
    expect(service.inOrder()).toEqual(
      ["", "?limit=3", "?limit=3&offset=3"].map((query) => `GET ${METRICS}${query}`),
    );
  });

  test("are null with an error if the server pages only by links", async () => {
    const list = createLister(recordings(3_000));
    const { ask, service } = await startBefore(
      (seen): FakeResponse =>
        seen.path.endsWith("metrics") ? { json: list(seen) } : { json: { id: 42, name: "run" } },
      { UPSTREAM_PROFILE: "document", MAX_JSON_BYTES: "100000" },
    );
    const answer = await ask(`{ experiment(id: "ada.mnist.42") { name metricSeries { name } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { experiment: { name: "run", metricSeries: null } },
      errors: [tooLong("experiment.metricSeries", "/{id}/metrics", "100000 bytes")],
    });
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", `GET ${METRICS}`]);
  });
});

describe("a run list too large for one response", () => {
  test.each(["experiments", "buildJobs"])("is read in smaller pages: %s", async (field) => {
    const rows = recordings(30).map((row) => ({
      ...row,
      unique_name: `ada.mnist.${row.id}`,
      description: "x".repeat(1_000),
    }));
    const list = createLister(rows);
    const { ask, service } = await startBefore((seen) => ({ json: list(seen) }), {
      ...RELEASE_04,
      MAX_JSON_BYTES: "10000",
    });
    const answer = await ask(`{ project(id: "ada.mnist") { ${field}(first: 24) { nodes { internalId } } } }`);
    expect(answer).toEqual({
      data: { project: { [field]: { nodes: rows.slice(0, 24).map(({ id }) => ({ internalId: `${id}` })) } } },
    });
    const path = field === "experiments" ? "experiments" : "builds";
    expect(service.inOrder().map((call) => pathIn(call))).toEqual(
      ["24", "6", "6&offset=6", "6&offset=12", "6&offset=18"].map(
        (query) => `GET ada/mnist/${path}?limit=${query}`,
      ),
    );
  });

  test("is an error when a single row is too large", async () => {
    const list = createLister(recordings(5).map((row) => ({ ...row, description: "x".repeat(20_000) })));
    const { ask } = await startBefore((seen) => ({ json: list(seen) }), {
      ...RELEASE_04,
      MAX_JSON_BYTES: "10000",
    });
    const answer = await ask(`{ project(id: "ada.mnist") { experiments(first: 5) { nodes { id } } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { project: { experiments: null } },
      errors: [tooLong("project.experiments", "", "10000 bytes")],
    });
  });
});

test("an oversized response is not replaced by a stale response", async () => {
  let rows = recordings(10);
  const { ask } = await startBefore((seen) => ({ json: createLister(rows)(seen) }), {
    UPSTREAM_PROFILE: "document",
    MAX_JSON_BYTES: "10000",
    STALE_MAX_AGE_MS: "600000",
  });
  const asked = () => ask(`{ experiment(id: "ada.mnist.42") { metricSeries { totalPoints } } }`);
  expect(await asked()).toEqual({ data: { experiment: { metricSeries: [{ totalPoints: 10 }] } } });
  rows = recordings(1_000);
  expect(outcomeOf(await asked())).toEqual({
    data: { experiment: { metricSeries: null } },
    errors: [tooLong("experiment.metricSeries", "/{id}/metrics", "10000 bytes")],
  });
});

test("a folder with too many files is an error, and not empty", async () => {
  const files = Array.from({ length: 100_001 }, (_, index) => [`${index}`, 1]);
  const { ask } = await startBefore(() => ({ json: { dirs: [], files } }), RELEASE_04);
  const answer = await ask(`{ experiment(id: "ada.mnist.42") { outputFiles { files { name } } } }`);
  expect(outcomeOf(answer)).toEqual({
    data: { experiment: { outputFiles: null } },
    errors: [tooLong("experiment.outputFiles", "/{id}/outputs/tree", "100000 items")],
  });
});
