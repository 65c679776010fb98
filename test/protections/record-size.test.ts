import { describe, expect, test } from "vitest";
import { pathIn, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";
import { subscribe } from "../support/subscriber.ts";
import { longestShareOf, timesOf } from "../support/ticks.ts";

/* The work for a record is linear in its bytes: no nested loops over two parts of it. */

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const named = (count: number, name = "p") =>
  Object.fromEntries(upTo(count).map((index) => [name + index, index]));
const listsOf = (count: number) => upTo(count).map((index) => [index]);
const times = (count: number, selection: string) =>
  upTo(count)
    .map((index) => `a${index}: ${selection}`)
    .join(" ");

/**
 * Starts a gateway in front of a service with these responses, by the ends of their paths. They are cached, so that only the other work is
 * measured.
 */
async function start(answers: Readonly<Record<string, unknown>>) {
  const service = await startFake(({ path }) => {
    const [at = ""] = pathIn(path).split("?");
    const found = Object.entries(answers).find(([end]) => at.endsWith(end));
    return found && { json: found[1] };
  });
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", CACHE_TTL_MS: "3600000", CACHE_BYTES: "100000000" };
  return startGateway({ upstream: service, env });
}

const SIGNED_IN = { headers: { authorization: "token t0ken" } };

const page = (...results: readonly object[]) => ({ count: results.length, next: null, results });
const row = (id: number, given: object) => ({ id, unique_name: `ada.mnist.${id}`, ...given });

type Lists = Readonly<Record<string, readonly string[]>>;

/** An operation that is sent with lists of names. */
interface Sent {
  readonly query: string;
  readonly lists: Lists;
}

const query = (selection: string, lists: Lists = {}): Sent => {
  const declared = Object.keys(lists).map((name) => `$${name}: [String!]!`);
  return { query: `query ${declared.length > 0 ? `(${declared.join()})` : ""} { ${selection} }`, lists };
};
const ofRun = (selection: string, lists?: Lists) =>
  query(`experiment(id: "ada.mnist.1") { ${selection} }`, lists);
const ofTuning = (selection: string) => query(`group(id: "ada.mnist.1") { hptuning { ${selection} } }`);
const ofList = (selection: string, lists?: Lists, project = "mnist") =>
  query(`project(id: "ada.${project}") { experiments${selection} }`, lists);
const summaryOf = (selection: string, lists?: Lists, project?: string) =>
  ofList(` { summary { ${selection} } }`, lists, project);

/** The responses of the service, a cheap operation, and an operation that must not cost much more. */
type Case = readonly [answers: Readonly<Record<string, unknown>>, little: Sent, much: Sent];

const run = (given: object) => ({ "experiments/1/": row(1, { last_status: "running", ...given }) });
const rows = (...given: readonly object[]) => ({
  experiments: page(...given.map((each, index) => row(index + 1, each))),
});

const many = (count: number, name: string) => upTo(count).map((index) => name + index);
const nested = (levels: number, count: number) =>
  upTo(levels).reduce<object>((values) => ({ k: values }), named(count));

const STRESS_CASES: Readonly<Record<string, Case>> = {
  "parameters that a run lacks": [
    run({ declarations: named(2_000) }),
    ofRun("parameters(names: $names) { name }", { names: many(2_000, "p") }),
    ofRun("parameters(names: $names) { name }", { names: many(2_000, "none") }),
  ],
  "metrics that a run lacks": [
    run({ last_metric: named(2_000) }),
    ofRun("latestMetrics(names: $names) { name }", { names: many(2_000, "p") }),
    ofRun("latestMetrics(names: $names) { name }", { names: many(2_000, "none.") }),
  ],
  "one parameter, by many fields": [
    run({ declarations: named(20_000) }),
    ofRun(times(100, 'parameter(name: "p1") { value }')),
    ofRun(times(100, 'parameter(name: "none") { value }')),
  ],
  "series of names, by many fields": [
    { ...run({}), "/metrics": page({ id: 1, values: named(1) }) },
    ofRun(times(100, "metricSeries(names: $names) { name }"), { names: ["p0"] }),
    ofRun(times(100, "metricSeries(names: $names) { name }"), { names: many(400, "p") }),
  ],
  "a long string, by fields whose result is too long": [
    run({ readme: "\u0416".repeat(500_000) }),
    ofRun(times(40, "readme")),
    ofRun(times(800, "readme")),
  ],
  "a configuration, by many fields": [
    run({ config: { build: { image: "a", lists: listsOf(20_000) } } }),
    ofRun("config { build { image } }"),
    ofRun(`config { ${times(100, "build { image }")} }`),
  ],
  "a matrix, by many fields": [
    { "groups/1/": { id: 1, hptuning: { matrix: { lr: { values: upTo(50_000) } } } } },
    ofTuning("matrix { name }"),
    ofTuning(times(100, "matrix { name }")),
  ],
  "a random search, by many fields": [
    { "groups/1/": { id: 1, hptuning: { random_search: { lists: listsOf(20_000) } } } },
    ofTuning("randomSearch { experimentCount }"),
    ofTuning(times(100, "randomSearch { experimentCount }")),
  ],
  "a folder with many files, by many fields": [
    { ...run({}), "outputs/tree": { dirs: [], files: many(5_000, "f").map((name) => [name, 1]) } },
    ofRun("outputFiles { __typename }"),
    ofRun(times(100, "outputFiles { __typename }")),
  ],
  "a missing key in a record with many unknown keys, by many fields": [
    run(named(20_000)),
    ofRun("readme"),
    ofRun(times(100, "readme")),
  ],
  "a lookup of one object among many": [
    rows({ declarations: { p: named(20_000) } }),
    ofList(`(filter: { parameters: [{ name: "p", values: $values }] }) { totalCount }`, { values: ["{}"] }),
    ofList(`(filter: { parameters: [{ name: "p", values: $values }] }) { totalCount }`, {
      values: many(200, "").map((index) => `{"a":${index}}`),
    }),
  ],
  "a filter for all of many tags": [
    rows({ tags: [...many(20_000, "t"), ...many(300, "a,")] }),
    ofList("(filter: { allTags: $tags }) { totalCount }", { tags: ["a,1"] }),
    ofList("(filter: { allTags: $tags }) { totalCount }", { tags: many(300, "a,") }),
  ],
  "groups by tags and by a long string": [
    rows({ tags: upTo(2_000).map(() => "t"), declarations: { p: "x".repeat(100_000) }, last_metric: {} }),
    summaryOf(`breakdown(by: [{ property: TAG }]) { count }`),
    summaryOf(`breakdown(by: [{ property: TAG }, { parameter: "p" }]) { count }`),
  ],
  "metrics of groups by name": [
    rows(...upTo(200).map((p) => ({ declarations: { p }, last_metric: { p0: p } }))),
    summaryOf(`breakdown(by: [{ parameter: "p" }], metrics: $names) { metrics { name } }`, { names: ["p0"] }),
    summaryOf(`breakdown(by: [{ parameter: "p" }], metrics: $names) { metrics { name } }`, {
      names: many(400, "p"),
    }),
  ],
  "the importance of parameters for a metric that runs lack": [
    rows(...upTo(20).map(() => ({ declarations: named(200), last_metric: named(1_000) }))),
    summaryOf('importance(metric: "p1") { count }'),
    summaryOf('importance(metric: "none") { count }'),
  ],
  "parameters that are nested deeply": [
    {
      "mnist/experiments": page(row(1, { declarations: nested(3, 3_000) })),
      "deep/experiments": page(row(1, { declarations: nested(190, 3_000) })),
    },
    summaryOf("parameters(onlyDifferences: false) { name }"),
    summaryOf("parameters(onlyDifferences: false) { name }", {}, "deep"),
  ],
};

describe("large requests cost little more than small ones for", () => {
  test.each(Object.entries(STRESS_CASES))("%s", async (_, [answers, little, much]) => {
    const { ask } = await start(answers);
    const send = (sent: Sent) => () => ask(sent.query, sent.lists);
    expect(await timesOf(send(little), send(much))).toBeLessThan(8);
  });
});

const listsOfTwo = [1, 2].map(() => ({ declarations: { lists: listsOf(300_000) } }));

describe("divides the work into time slices for", () => {
  const cases: Readonly<Record<string, readonly [answers: Case[0], sent: Sent]>> = {
    "more parameters than a result may have": [
      run({ declarations: named(150_000) }),
      ofRun("parameters { name }"),
    ],
    "a name that many fields look up": [
      run({ declarations: named(1) }),
      ofRun(times(200, "parameters(names: $names) { name }"), { names: many(2_000, "none") }),
    ],
    "a long list in each of two runs": [
      {
        ...rows(...listsOfTwo),
        "experiments/1/": row(1, listsOfTwo[0] ?? {}),
        "experiments/2/": row(2, listsOfTwo[1] ?? {}),
      },
      query(
        `compareExperiments(ids: ["ada.mnist.1", "ada.mnist.2"], onlyDifferences: false) { parameters { differs } }`,
      ),
    ],
    "a long list that all runs share": [
      rows(...upTo(200).map(() => ({ declarations: { p: listsOf(3_000) } }))),
      summaryOf("parameters(onlyDifferences: false) { distinctCount }"),
    ],
    "a row that is searched for many words": [
      rows({ name: `${"a".repeat(19_000)} ${many(60, "a").join(" ")}`, description: "ab".repeat(10_000) }),
      ofList(`(filter: { words: "${many(50, "a").join(" ")}" }) { totalCount }`),
    ],
  };
  test.each(Object.entries(cases))("%s", async (_, [answers, { query: text, lists }]) => {
    const { ask } = await start(answers);
    await ask(text, lists);
    // Without time slices, the share is above 0.8; with them, that of the shortest work is below 0.45.
    expect(await longestShareOf(() => ask(text, lists))).toBeLessThan(0.7);
  });

  test("an export row with more parameters than columns", async () => {
    const { url } = await start(rows({ declarations: named(60_000) }));
    const get = async () => (await fetch(`${url}/export/ada.mnist/runs.ndjson`, SIGNED_IN)).text();
    const { others, ...columns } = JSON.parse(await get()) as Readonly<Record<string, object>>;
    const parameters = Object.keys({ ...columns, ...others }).filter((name) => name.startsWith("parameter."));
    expect(parameters).toHaveLength(60_000);
    expect(await longestShareOf(get)).toBeLessThan(0.35);
  });

  test("an export page whose parameters become its columns", async () => {
    const runs = upTo(60).map(() => ({ declarations: named(10), last_metric: named(10) }));
    const { url } = await start(rows(...runs));
    const get = async (columns: string) =>
      (await fetch(`${url}/export/ada.mnist/runs.ndjson${columns}`, SIGNED_IN)).text();
    await get("");
    const looks = stopwatchRuns();
    await get("?columns=parameter.p1");
    const before = looks();
    await get("");
    // The clock is read after each of its rows for parameters and for metrics.
    expect(looks() - before).toBeGreaterThan(before + 2 * runs.length);
  });

  test("a subscription to a run with many parameters", async () => {
    const text = JSON.stringify(row(1, { last_status: "running", declarations: named(100_000) }));
    const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
    const env = { ...RELEASE_04, UPSTREAM_RATE_LIMIT: "100000/60", LIVE_REQUESTS_PER_MINUTE: "50000" };
    const { url } = await startGateway({ upstream: service, env });
    const subscription = `subscription { runUpdated(id: "ada.mnist.experiments.1") { reason } }`;
    const readOnce = async () => {
      const watcher = await subscribe(url, { query: subscription });
      expect(await watcher.next()).toMatchObject({ data: expect.anything() });
      watcher.leave();
    };
    await readOnce();
    expect(await longestShareOf(readOnce)).toBeLessThan(0.7);
  });

  test("thousands of reads that a rate limit cannot allow in time", async () => {
    const service = await startFake(() => ({ json: { id: 1 } }));
    const env = { UPSTREAM_RATE_LIMIT: "20/60", REQUEST_TIMEOUT_MS: "3000" };
    const { ask } = await startGateway({ upstream: service, env });
    const ids = Object.fromEntries(
      upTo(40).map((list) => [`ids${list}`, many(100, `a.b.jobs.${list + 1}0`)]),
    );
    const fields = upTo(40).map((list) => `a${list}: entities(ids: $ids${list}) { ... on Job { status } }`);
    const text = query(fields.join(" "), ids).query.replaceAll("String", "ID");
    await ask(text, ids);
    expect(await longestShareOf(() => ask(text, ids))).toBeLessThan(0.5);
  });
});

test("a specification is measured once for all commands that contain it", async () => {
  const { ask } = await startGateway({
    upstream: await startFake(() => ({ json: { id: 1 } })),
    env: RELEASE_04,
  });
  const create = `createJob(project: "a.b", input: { specification: $it }) { job { id } }`;
  const it = { kind: "job", run: { cmd: "x" }, lists: listsOf(20_000) };
  const send = (count: number) => () =>
    ask(
      `mutation ($it: JSON!) { ${upTo(count)
        .map((at) => `c${at}: ${create}`)
        .join(" ")} }`,
      { it },
    );
  expect(await timesOf(send(1), send(50))).toBeLessThan(4);
});
