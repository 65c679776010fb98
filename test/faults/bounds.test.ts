import { once } from "node:events";
import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startDemoGateway, still } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import { askIncrementally, merge } from "../support/incremental.ts";
import { latch } from "../support/latch.ts";
import { listen } from "../support/listen.ts";
import { experimentIn, upTo } from "../support/one-read.ts";
import { post } from "../support/raw-requests.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";
import SELECTED from "./selected.json" with { type: "json" };

const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(" ");

const tooLarge = (message: string, more: object = {}) => [
  { message, extensions: { code: "OPERATION_TOO_LARGE", requestId: expect.any(String), ...more } },
];
const tooManySelected = (most: number) =>
  tooLarge(
    `Expected at most ${most} fields with fragments expanded and for each item of a list argument, got more.`,
  );

/** Fragments, each of which spreads the next one at four paths: `Project { experiments jobs buildJobs groups }`. */
const doubling = (levels: number) =>
  times(levels, (level) => {
    const next = level + 1 < levels ? `project { ...F${level + 1} }` : "id";
    const links = ["experiments", "jobs", "buildJobs", "groups"];
    const fields = links.map((link) => `${link}(first: 1) { nodes { ${next} } }`);
    return `fragment F${level} on Project { ${fields.join(" ")} }`;
  });

/** Starts a service without records that counts its requests. */
const startEmpty = async (env: Record<string, string> = {}) => {
  const service = await startFake(() => undefined);
  return { service, ...(await startGateway({ upstream: service, env })) };
};

describe("the field limit counts selections with expanded fragments before execution:", () => {
  const PROJECT = { __typename: "Project", uniqueName: "ada.mnist" };

  test.each([
    [7, 50],
    [30, 1],
  ])("%i fragments that each expand four times, on %i objects", async (levels, count) => {
    const { ask, service } = await startEmpty({ MAX_DEPTH: "1000", MAX_FIELDS: "10000" });
    const query = `query ($of: [_Any!]!) { _entities(representations: $of) { ... on Project { ...F0 } } } ${doubling(levels)}`;
    const answer = await ask(query, { of: Array.from({ length: count }, () => PROJECT) }, { token: null });
    expect(answer).toEqual({ errors: tooManySelected(10_000) });
    expect(service.seen()).toEqual([]);
  });

  test.each(SELECTED)("$case: $size", async ({ size, query, variables }) => {
    const within = await startEmpty({ MAX_FIELDS: String(size) });
    expect((await within.ask(query, variables)).errors ?? []).not.toMatchObject(tooManySelected(size));
    const beyond = await startEmpty({ MAX_FIELDS: String(size - 1) });
    expect(await beyond.ask(query, variables)).toEqual({ errors: tooManySelected(size - 1) });
  });

  test("the same document anew for each length of a list variable", async () => {
    const { ask } = await startEmpty({ MAX_FIELDS: "9" });
    const query = "query ($of: [ID!]!) { entities(ids: $of) { id } }";
    const sizes = [1, 5, 1];
    const answers = await Promise.all(
      sizes.map((size) => ask(query, { of: Array(size).fill("ada.mnist.42") })),
    );
    expect(answers.map(({ errors = [] }) => errors.map(({ extensions: { code } }) => code))).toEqual([
      ["NOT_FOUND"],
      ["OPERATION_TOO_LARGE"],
      ["NOT_FOUND"],
    ]);
  });
});

/** Starts a service that has an experiment with this log. */
const startLog = async (log: string, env: Record<string, string> = {}) => {
  const service = await startFake(({ path }) => (path.includes("/logs") ? { text: log } : undefined));
  return startGateway({ upstream: service, env });
};

describe("a limit checked during completion", () => {
  test("accepts exactly the maximum number of lines", async () => {
    // The other fields are `experiment`, `logs` and `lines`.
    const { ask } = await startLog("\n".repeat(1_000), { MAX_RESULT_FIELDS: "1003" });
    const query = '{ experiment(id: "ada.mnist.42") { logs { lines } } }';
    expect(await ask(query)).toEqual({ data: { experiment: { logs: { lines: Array(1_000).fill("") } } } });
    const { ask: askLess } = await startLog("\n".repeat(1_000), { MAX_RESULT_FIELDS: "1002" });
    expect(await askLess(query)).toEqual({
      errors: tooLarge("Expected a result of at most 1002 fields and list items, got more."),
    });
  });

  test("counts each upstream row", async () => {
    const results = Array.from({ length: 500 }, (_, index) => ({ id: index + 1, name: "run" }));
    const service = await startFake(() => ({ json: { count: 500, next: null, results } }));
    const { ask } = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_PAGE_SIZE: "500", MAX_RESULT_FIELDS: "1003" },
    });
    const page = (fields: string) =>
      `{ project(id: "ada.mnist") { experiments(first: 500) { nodes { ${fields} } } } }`;
    // The fields are `project`, `experiments` and `nodes`, and 500 items with one field each.
    expect(await ask(page("name"))).toMatchObject({
      data: { project: { experiments: { nodes: { length: 500 } } } },
    });
    expect(await ask(page("name internalId"))).toEqual({
      errors: tooLarge("Expected a result of at most 1003 fields and list items, got more."),
    });
  });

  const startConfig = async (it: unknown, env: Record<string, string> = {}) => {
    const service = await startFake(() => ({ json: { id: 42, declarations: { it } } }));
    return startGateway({ upstream: service, env });
  };
  const bytes = (most: number) => tooLarge(`Expected a result of at most ${most} bytes, got more.`);

  test.each([
    ["text", "é".repeat(500)],
    ["nested values", { a: [Array.from({ length: 100 }, () => ({ b: "c" }))] }],
    ["numbers", Array(1_000).fill(1)],
    ["control characters", "\u0001".repeat(170)],
    ["short strings of control characters", Array(4).fill("\u0001".repeat(45))],
    ["values 190 levels deep", Array(10).fill(JSON.parse("[".repeat(190) + "]".repeat(190)))],
  ])("counts the bytes of %s", async (_, value) => {
    const { ask } = await startConfig(value, { MAX_RESULT_BYTES: "1000" });
    expect(await ask('{ experiment(id: "ada.mnist.42") { parameter(name: "it") { value } } }')).toEqual({
      errors: bytes(1_000),
    });
  });

  test.each([
    ["read for one row", (index: number) => ({ build_job: null, name: `${index}`.padEnd(90, "\u0001") })],
    ["shared by all rows", () => ({ name: null, build_job: "ada.mnist.builds.1" })],
  ])("counts short strings of control characters with escapes, in a record %s", async (_, rowOf) => {
    const results = Array.from({ length: 500 }, (_each, index) => ({ id: index + 1, ...rowOf(index) }));
    const build = { id: 1, unique_name: "ada.mnist.builds.1", name: "\u0001".repeat(90) };
    const service = await startFake(({ path }) => ({
      json: path.includes("/builds/1") ? build : { count: 500, next: null, results },
    }));
    const env = { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_PAGE_SIZE: "500", MAX_RESULT_BYTES: "150000" };
    const { ask } = await startGateway({ upstream: service, env });
    const query =
      '{ project(id: "ada.mnist") { experiments(first: 500) { nodes { name buildJob { name } } } } }';
    expect(await ask(query)).toEqual({ errors: bytes(150_000) });
  });

  test("counts a long alias for each row", async () => {
    const results = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, name: "run" }));
    const service = await startFake(() => ({ json: { count: 100, next: null, results } }));
    const env = { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_RESULT_BYTES: "99000" };
    const { ask } = await startGateway({ upstream: service, env });
    const rows = (alias: string) =>
      ask(`{ project(id: "ada.mnist") { experiments { nodes { ${alias}: name } } } }`);
    expect((await rows("a")).errors).toBeUndefined();
    expect(await rows("a".repeat(1_000))).toEqual({ errors: bytes(99_000) });
  });

  test("cancels upstream requests still in flight", async () => {
    let isCancelled: Promise<unknown> = Promise.resolve();
    const url = await listen((request, response) => {
      if (request.url?.includes("/logs")) response.end("\n".repeat(100));
      // This request never receives a response.
      else isCancelled = once(response, "close");
    });
    const { ask } = await startGateway({ upstream: { url }, env: { MAX_RESULT_FIELDS: "50" } });
    const answer = await ask(
      '{ job(id: "ada.mnist.jobs.1") { name } experiment(id: "ada.mnist.42") { logs { lines } } }',
    );
    expect(answer).toEqual({
      errors: tooLarge("Expected a result of at most 50 fields and list items, got more."),
    });
    await isCancelled;
  });

  test("stops a mutation's further commands and reports an unknown outcome", async () => {
    const service = await startFake(({ path }) =>
      path.endsWith("/stop") ? { json: {} } : { json: { id: 1, tags: Array(100).fill("tag") } },
    );
    const { ask } = await startGateway({ upstream: service, env: { MAX_RESULT_FIELDS: "50" } });
    const answer = await ask(
      'mutation { a: stopJob(id: "ada.mnist.jobs.1", force: true) { job { tags } } b: stopJob(id: "ada.mnist.jobs.2", force: true) { job { tags } } }',
    );
    expect(answer).toEqual({
      data: null,
      errors: tooLarge("Expected a result of at most 50 fields and list items, got more.", {
        outcome: "unknown",
      }),
    });
    expect(service.seen().filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("reports 500 errors and the total number", async () => {
    const { ask, url } = await startEmpty();
    const query = `query ($of: [_Any!]!) { a: _entities(representations: $of) { __typename } b: _entities(representations: $of) { __typename } }`;
    const variables = { of: Array.from({ length: 900 }, () => ({ __typename: "Nobody" })) };
    const { data, errors = [] } = await ask<Record<string, unknown[]>, object>(query, variables);
    expect(errors).toHaveLength(501);
    expect(errors.at(-1)).toEqual(
      tooLarge("Expected at most 500 errors, got 1800: the others are left out.")[0],
    );
    expect(errors[0]).toMatchObject({ path: ["a", 0], extensions: { code: "BAD_USER_INPUT" } });
    expect(data).toEqual({ a: Array(900).fill(null), b: Array(900).fill(null) });
    // With incremental delivery, each error is reported once.
    const later = query.replace(/ }$/, " ... @defer { gateway { version } } }");
    expect(merge(await askIncrementally(url, { query: later, variables })).errors).toHaveLength(501);
  });

  test("refuses thousands of consecutive reads beyond the request limit", async () => {
    const env = { MAX_UPSTREAM_REQUESTS: "1", UPSTREAM_CONNECTIONS: "1" };
    const { ask } = await startBefore(() => ({ json: { id: 1 } }), env);
    const query = `query ($a: [_Any!]!, $b: [_Any!]!) { a: _entities(representations: $a) { ... on Experiment { status } } b: _entities(representations: $b) { ... on Experiment { status } } }`;
    const [a = [], b = []] = [0, 1].map((half) =>
      Array.from({ length: 1_000 }, (_, index) => ({
        __typename: "Experiment",
        id: `ada.mnist.${half * 1_000 + index + 1}`,
      })),
    );
    const { errors } = await ask(query, { a, b });
    const codes = new Set(errors?.map(({ extensions }) => extensions["code"]));
    expect(codes).toEqual(new Set(["REQUEST_LIMIT_EXCEEDED", "OPERATION_TOO_LARGE"]));
  });

  test("reports a possibly executed command, whatever the number of errors", async () => {
    const statuses: Readonly<Record<string, number>> = { PATCH: 200, GET: 500, POST: 302 };
    const { ask } = await startBefore(({ method }) => ({ json: { id: 1 }, status: statuses[method] ?? 200 }));
    const aliases = times(501, (index) => `of${index}: uuid`);
    const { errors = [] } = await ask(`mutation {
      updateJob(id: "ada.mnist.jobs.1", input: { description: "" }) { job { ${aliases} } }
      stopJob(id: "ada.mnist.jobs.1", force: true) { outcome }
    }`);
    expect(errors.map(({ path, extensions }) => [path?.[0], extensions["outcome"]])).toContainEqual([
      "stopJob",
      "unknown",
    ]);
  });
});

describe("bounded validation", () => {
  test.each([
    [
      "Expected one name for at most 150 fields with arguments or selections, got 400.",
      `{ project(id: "ada.mnist") { ${times(400, () => 'experiment(internalId: "1") { id }')} } }`,
    ],
    [
      "Expected at most 100 fragments, got 300.",
      `{ project(id: "ada.mnist") { ${times(300, (index) => `...F${index}`)} } } ${times(300, (index) => `fragment F${index} on Project { id }`)}`,
    ],
    ["Expected at most 100 operations, got 300.", times(300, (index) => `query Q${index} { __typename }`)],
  ])("%s", async (message, query) => {
    const { ask } = await startEmpty({ MAX_TOKENS: "4000" });
    expect(await ask(query)).toEqual({ errors: tooLarge(message) });
  });

  test("reports at most 20 document errors, and notes further errors", async () => {
    const { ask } = await startEmpty({ MAX_TOKENS: "4000" });
    const { errors = [] } = await ask(`{ viewer { ${times(500, (index) => `unknown${index}`)} } }`);
    expect(errors).toHaveLength(21);
    expect(errors.at(-1)?.message).toBe(
      "Too many validation errors, error limit reached. Validation aborted.",
    );
  });

  test.each([
    [
      "a query",
      'query ($filter: RunFilter) { project(id: "a.b") { experiments(filter: $filter) { totalCount } } }',
    ],
    [
      "a subscription",
      'subscription ($filter: RunFilter) { runsUpdated(of: "a.b", filter: $filter) { __typename } }',
    ],
  ])("reports at most 5 variable errors of %s, and notes further errors", async (_, query) => {
    const { url } = await startEmpty();
    const filter = Object.fromEntries(Array.from({ length: 50 }, (_each, index) => [`no${index}`, 1]));
    const accept = "text/event-stream";
    const response = await post(`${url}/graphql`, { query, variables: { filter } }, { accept });
    const [, result = "{}"] = /^data: (.*)$/m.exec(await response.text()) ?? [];
    expect(JSON.parse(result)).toMatchObject({
      errors: [
        ...[0, 1, 2, 3, 4].map((index) => ({
          message: `Variable "$filter" got invalid value; Field "no${index}" is not defined by type "RunFilter".`,
        })),
        { message: "Too many errors processing variables, error limit reached. Execution aborted." },
      ],
    });
  });
});

describe("execution yields to the event loop", () => {
  const ROWS = '{ project(id: "ada.mnist") { experiments(first: 40) { nodes { id name project { id } } } } }';

  test.each([
    ["rows with an object each", ROWS, 80],
    ["introspection", "{ __schema { types { name fields { name } } } }", 100],
  ])("between any two objects after each time slice: %s", async (_, query, most) => {
    const { ask } = await startDemoGateway({ now: still, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    await ask(query);
    stopwatchRuns();
    let ticks = 0;
    const counting = new AbortController();
    const count = async () => {
      for (; !counting.signal.aborted; ticks++) await nextTick();
    };
    const counted = count();
    const { errors } = await ask(query);
    counting.abort();
    await counted;
    expect(errors).toBeUndefined();
    expect(ticks).toBeGreaterThan(most);
  });

  test.each([
    ["ends five seconds after the deadline of its operation", 5_000, true],
    // The deadline is measured from the arrival of the request, which may be up to a second earlier.
    ["continues until five seconds after the deadline", 4_000, false],
  ])("and remaining computation %s", async (_, ms, isEnded) => {
    const { ask } = await startLog("\n".repeat(20_000), { REQUEST_TIMEOUT_MS: "60000" });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const looks = stopwatchRuns();
    const answer = ask('{ experiment(id: "ada.mnist.42") { logs(maxBytes: 20000) { lines } } }');
    // Completing the items reads the clock more than a thousand times.
    while (looks() < 150) await nextTick();
    vi.advanceTimersByTime(60_000);
    vi.advanceTimersByTime(ms);
    expect(await answer).toEqual(
      isEnded
        ? { errors: tooLarge("Expected a result that can be computed before the deadline.") }
        : { data: { experiment: { logs: { lines: Array(20_000).fill("") } } } },
    );
    expect(looks() > 1_000).toBe(!isEnded);
  });

  test("between fields of simultaneous records when each takes a time slice", async () => {
    const ids = upTo(12);
    const everything = latch();
    let asked = 0;
    const { ask, service } = await startBefore(async ({ path }) => {
      const id = experimentIn(path);
      if (!id) return { json: { count: ids.length, next: null, results: ids.map((each) => ({ id: each })) } };
      if (++asked === ids.length) everything.open();
      await everything.opened;
      return { json: { id, cloning_strategy: "resume" } };
    }, RELEASE_04);
    const { toUpperCase } = String.prototype;
    const timeOf = performance.now.bind(performance);
    let [spent, inThisTick, most] = [0, 0, 0];
    const clock = vi.spyOn(performance, "now").mockImplementation(() => timeOf() + spent);
    const computed = vi.spyOn(String.prototype, "toUpperCase").mockImplementation(function (this: string) {
      if (`${this}` === "resume") {
        spent += 10;
        most = Math.max(most, ++inThisTick);
      }
      return Reflect.apply(toUpperCase, this, []);
    });
    onTestFinished(() => [clock, computed].forEach((spy) => spy.mockRestore()));
    const counting = new AbortController();
    const count = async () => {
      for (; !counting.signal.aborted; inThisTick = 0) await nextTick();
    };
    const counted = count();
    const answer = await ask(`{ project(id: "ada.mnist") { experiments { nodes { cloningStrategy } } } }`);
    counting.abort();
    await counted;
    const nodes = ids.map(() => ({ cloningStrategy: "RESUME" }));
    expect(answer).toEqual({ data: { project: { experiments: { nodes } } } });
    const list = "GET ada/mnist/experiments";
    expect(service.calls()).toEqual([list, ...ids.map((id) => `${list}/${id}/`)].toSorted());
    expect(most).toBe(1);
  });

  test("while completing the items of a long list", async () => {
    const { ask } = await startLog("\n".repeat(100_000));
    const looks = stopwatchRuns();
    const { errors } = await ask('{ experiment(id: "ada.mnist.42") { logs(maxBytes: 100000) { lines } } }');
    expect(errors).toBeUndefined();
    expect(looks()).toBeGreaterThan(1_000);
  });
});
