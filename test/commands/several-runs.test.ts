import { describe, expect, test } from "vitest";
import { startAccepting } from "../support/any-command.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";
import { refusal } from "../support/throttling.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };
const IDS = `["${globalId("Experiment:ada/mnist/3")}", "ada.mnist.jobs.5", "ada.mnist.builds.7", "${globalId("Group:ada/mnist/2")}"]`;
const JOBS = [1, 2, 3, 4, 5, 6].map((id) => `"ada.mnist.jobs.${id}"`).join();
const PATHS = ["experiments/3", "jobs/5", "builds/7", "groups/2"];
const KINDS = ["Experiment", "Job", "BuildJob", "Group"];

/** Starts a gateway in front of a service that, by default, accepts every command. */
async function start(opened: ReturnType<typeof startAccepting> = startAccepting(), more = {}) {
  const service = await opened;
  const { ask } = await startGateway({ upstream: service, env: { ...env, ...more } });
  return { ask, service, sent: service.calls };
}

describe("a mutation of several runs", () => {
  test.each([
    ["stopRuns", ", force: true", "POST", "/stop"],
    ["bookmarkRuns", "", "POST", "/bookmark/"],
    ["bookmarkRuns", ", isBookmarked: false", "DELETE", "/unbookmark/"],
    ["archiveRuns", "", "POST", "/archive"],
    ["archiveRuns", ", isArchived: false", "POST", "/restore"],
  ])("%s%s sends each run the command of its kind", async (name, more, method, end) => {
    const { ask, sent } = await start();
    expect(
      await ask(`mutation { done: ${name}(ids: ${IDS}${more}) { results { run { __typename } } } }`),
    ).toEqual({
      data: { done: { results: KINDS.map((kind) => ({ run: { __typename: kind } })) } },
    });
    expect(sent()).toEqual(PATHS.map((path) => `${method} ada/mnist/${path}${end}`).toSorted());
  });

  test("sends one command for a run that is named twice", async () => {
    const { ask, sent } = await start();
    const ids = `["ada.mnist.jobs.5", "${globalId("Job:ada/mnist/5")}", "ada.mnist.jobs.5"]`;
    const { data } = await ask(
      `mutation { stopRuns(ids: ${ids}, force: true) { results { requestedId outcome run { id } } } }`,
    );
    const id = globalId("Job:ada/mnist/5");
    const results = ["ada.mnist.jobs.5", id, "ada.mnist.jobs.5"].map((requestedId) => ({
      requestedId,
      outcome: "DONE",
      run: { id },
    }));
    expect(data).toEqual({ stopRuns: { results } });
    expect(sent()).toEqual(["POST ada/mnist/jobs/5/stop"]);
  });

  test.each([
    ["[]", "ids: expected 1 to 100 ids, got 0"],
    [
      `["ada.mnist.jobs.5", "ada.mnist.3"]`,
      'ids[1]: expected ada.mnist.experiments.3 or ada.mnist.groups.3, got "ada.mnist.3", which can be the name of either',
    ],
    [
      JSON.stringify(Array.from({ length: 101 }, (_, id) => `ada.mnist.jobs.${id}`)),
      "ids: expected 1 to 100 ids, got 101",
    ],
  ])("with invalid ids is refused before anything is sent: %#", async (ids, message) => {
    const { ask, sent } = await start();
    expect(outcomeOf(await ask(`mutation { deleteRuns(ids: ${ids}) { results { deletedId } } }`))).toEqual({
      data: { deleteRuns: null },
      errors: [failure("deleteRuns", "BAD_USER_INPUT", message)],
    });
    expect(sent()).toEqual([]);
  });
});

const RUNNING = { last_status: "running", started_at: "2026-02-01T10:00:00+01:00", finished_at: null };
const FINISHED = { ...RUNNING, last_status: "succeeded", finished_at: "2026-02-01T11:00:00+01:00" };

/** Starts a service with every run except run 404. Runs from number 10 on have finished. The service rejects commands for runs of `bob`. */
const startMany = () =>
  startFake(({ method, path }) => {
    const { pathname, searchParams } = new URL(path, "http://service");
    const [, , , owner = "", project, , last = ""] = pathname.split("/");
    if (method !== "GET") return owner === "bob" ? { json: { detail: "No." }, status: 403 } : { text: "" };
    const rowOf = (id: number) => ({
      id,
      unique_name: `${owner}.${project}.${id}`,
      ...(id < 10 ? RUNNING : FINISHED),
    });
    const [, listed] = /^id:([\d|]+)$/.exec(searchParams.get("query") ?? "") ?? [];
    const results = (listed?.split("|") ?? [last])
      .map(Number)
      .filter((id) => id !== 404)
      .map(rowOf);
    if (listed) return { json: { count: results.length, next: null, previous: null, results } };
    return results[0] && { json: results[0] };
  });

test("reports each run as NOT_SENT when the server lacks the command", async () => {
  const { ask, sent } = await start(startAccepting(), { UPSTREAM_PROFILE: "polyaxon-0.2" });
  const message = expect.stringContaining("it lacks the capability `ARCHIVES`");
  expect(
    await ask(`mutation { archiveRuns(ids: ["ada.mnist.jobs.3"]) { results { outcome code message } } }`),
  ).toEqual({
    data: { archiveRuns: { results: [{ outcome: "NOT_SENT", code: "CAPABILITY_UNAVAILABLE", message }] } },
  });
  expect(sent()).toEqual([]);
});

test("sends no stop for finished runs that need requests of their own", async () => {
  const { ask, sent } = await start(startMany());
  const ids = `["ada.mnist.jobs.12", "ada.mnist.builds.3", "ada.mnist.experiments.13"]`;
  expect(await ask(`mutation { stopRuns(ids: ${ids}) { results { outcome code } } }`)).toEqual({
    data: {
      stopRuns: { results: ["NOT_SENT", "DONE", "NOT_SENT"].map((outcome) => ({ outcome, code: null })) },
    },
  });
  expect(sent().filter((call) => !call.startsWith("GET"))).toEqual(["POST ada/mnist/builds/3/stop"]);
});

describe("a bulk command for a project's experiments", () => {
  test("stops unfinished runs with one request, and reports on each run", async () => {
    const { ask, service } = await start(startMany());
    const ids = ["2", "404", "12", "3", "2"].map((id) => `"ada.mnist.experiments.${id}"`);
    const answer = await ask(
      `mutation { stopRuns(ids: [${ids.join()}]) { results { outcome code message run { uniqueName } } } }`,
    );
    const result = (outcome: string, id: number) => ({
      outcome,
      code: null,
      message: null,
      run: { uniqueName: `ada.mnist.${id}` },
    });
    const missing = {
      outcome: "NOT_FOUND",
      code: "NOT_FOUND",
      message: "Not found: ada.mnist.experiments.404.",
      run: null,
    };
    const results = [
      result("DONE", 2),
      missing,
      result("NOT_SENT", 12),
      result("DONE", 3),
      result("DONE", 2),
    ];
    expect(answer).toEqual({ data: { stopRuns: { results } } });
    expect(service.inOrder()).toEqual([
      expect.stringMatching(/^GET ada\/mnist\/experiments\?query=id%3A2%7C404%7C12%7C3/),
      "GET ada/mnist/experiments/404/",
      "POST ada/mnist/experiments/stop",
      // The data of the stopped runs is read again.
      "GET ada/mnist/experiments?query=id%3A2%7C3&limit=100",
    ]);
    expect(service.seen()[2]?.body).toBe(`{"ids": [2, 3]}`);
  });

  test("that one project refuses does not affect other projects' results", async () => {
    const { ask, service } = await start(startMany());
    const ids =
      "ada.mnist.experiments.2 bob.mnist.experiments.3 ada.mnist.experiments.4 eve.x.jobs.5 ada.mnist.experiments.404";
    const mutation = (selection: string) =>
      ask(`mutation { deleteRuns(ids: ${JSON.stringify(ids.split(" "))}) { ${selection} } }`);
    const done = (address: string) => ({ outcome: "DONE", code: null, deletedId: globalId(address) });
    expect(await mutation("results { outcome code deletedId }")).toEqual({
      data: {
        deleteRuns: {
          results: [
            done("Experiment:ada/mnist/2"),
            { outcome: "REFUSED", code: "FORBIDDEN", deletedId: null },
            done("Experiment:ada/mnist/4"),
            done("Job:eve/x/5"),
            { outcome: "NOT_FOUND", code: "NOT_FOUND", deletedId: null },
          ],
        },
      },
    });
    const sent = () => service.calls().filter((call) => call.startsWith("DELETE"));
    const paths = ["ada/mnist/experiments/delete", "bob/mnist/experiments/3/", "eve/x/jobs/5/"];
    expect(sent()).toEqual(paths.map((path) => `DELETE ${path}`));
    // The same happens if the results are not selected.
    expect(await mutation("__typename")).toEqual({
      data: { deleteRuns: { __typename: "DeleteRunsPayload" } },
    });
    expect(sent()).toHaveLength(6);
  });
});

test("after a failed bulk command, the outcome of each run is unknown", async () => {
  const lost = { text: "", status: 405, headers: { "content-type": "text/html" } };
  const rows = [1, 2].map((id) => ({ id, last_status: "running", started_at: null, finished_at: null }));
  const listed = { json: { count: 2, next: null, results: rows } };
  const { ask, service } = await startBefore(({ method }) => (method === "GET" ? listed : lost), env);
  const ids = `["ada.mnist.experiments.1", "ada.mnist.experiments.2"]`;
  for (const [name, method, route] of [
    ["stopRuns", "POST", "{owner}/{project}/experiments/stop"],
    ["deleteRuns", "DELETE", "{owner}/{project}/experiments/delete"],
  ] as const) {
    const message = `The server failed at ${method} ${route}, or does not offer it.`;
    const unknown = { outcome: "UNKNOWN", code: "UPSTREAM_ERROR", message };
    expect(await ask(`mutation { done: ${name}(ids: ${ids}) { results { outcome code message } } }`)).toEqual(
      {
        data: { done: { results: [unknown, unknown] } },
      },
    );
  }
  const list = "GET ada/mnist/experiments?query=id%3A1%7C2&limit=100";
  const sent = ["POST ada/mnist/experiments/stop", list, "DELETE ada/mnist/experiments/delete"];
  expect(service.inOrder()).toEqual([list, ...sent]);
});

test.each([
  ["UNKNOWN", [302, 303, 304, 408, 500, 502, 503, 504, 520]],
  ["REFUSED", [307, 308, 400, 401, 403, 409, 413, 422, 429]],
  ["NOT_FOUND", [404]],
])("a command has the outcome %s after the statuses %j", async (outcome, statuses) => {
  for (const status of statuses) {
    const { ask, service } = await startBefore(() => ({ json: {}, status }), env);
    const answer = await ask(
      `mutation { stopRuns(ids: ["ada.mnist.jobs.1"], force: true) { results { outcome } } }`,
    );
    expect({ status, ...answer }).toEqual({ status, data: { stopRuns: { results: [{ outcome }] } } });
    expect(service.calls()).toEqual(["POST ada/mnist/jobs/1/stop"]);
  }
});

test("sends nothing more after a throttled command, and reports each run's outcome", async () => {
  const answering = startFake(({ method, path }) => {
    const id = Number(/jobs\/(\d+)/.exec(path)?.[1]);
    if (id === 2) return { json: { detail: "No." }, status: 403 };
    if (id === 3) return (response) => response.destroy();
    return method === "POST" && id === 4 ? refusal(40) : { text: "" };
  });
  const { ask, service } = await start(answering, { UPSTREAM_CONNECTIONS_PER_TOKEN: "1" });
  const answer = await ask(`mutation {
    bookmarkRuns(ids: [${JOBS}]) { results { outcome code retryAfterSeconds run { id } } }
    stopJob(id: "ada.mnist.jobs.7", force: true) { outcome }
  }`);
  const wait = { code: "RATE_LIMITED", retryAfterSeconds: 40 };
  const failed = { retryAfterSeconds: null, run: null };
  expect(answer.data).toEqual({
    bookmarkRuns: {
      results: [
        { outcome: "DONE", code: null, retryAfterSeconds: null, run: { id: globalId("Job:ada/mnist/1") } },
        { outcome: "REFUSED", code: "FORBIDDEN", ...failed },
        { outcome: "UNKNOWN", code: "UPSTREAM_UNAVAILABLE", ...failed },
        { outcome: "REFUSED", ...wait, run: null },
        { outcome: "NOT_SENT", ...wait, run: null },
        { outcome: "NOT_SENT", ...wait, run: null },
      ],
    },
    stopJob: null,
  });
  expect(errorsOf(answer)).toMatchObject([{ at: "stopJob", ...wait }]);
  expect(service.inOrder()).toEqual([1, 2, 3, 4].map((id) => `POST ada/mnist/jobs/${id}/bookmark/`));
});

describe("with HALT, the error reports the outcome of a mutation", () => {
  /** Job 1 is stopped, 2 is rejected, 3 fails, 4 has finished, 5 does not exist, and the connection of 6 breaks. */
  const startMixed = () =>
    startFake(({ method, path }) => {
      const id = Number(/\/(?:jobs|experiments)\/(\d+)/.exec(path)?.[1]);
      if (method === "GET" && id === 5) return undefined;
      if (method === "GET") return { json: { id, last_status: id === 4 ? "succeeded" : "running" } };
      if (id === 6) return (response) => response.destroy();
      return { status: id === 2 ? 403 : id === 3 ? 500 : 200, json: {} };
    });

  test.each([
    [
      "of a run whose record fails after the command",
      `stopJob(id: "ada.mnist.jobs.1", force: true) { job { project { experiments(first: 0) { totalCount } } } }`,
      { code: "BAD_USER_INPUT", outcome: "unknown" },
    ],
    [
      "of a root field that fails itself",
      `stopJob(id: "ada.mnist.jobs.2", force: true) { outcome }`,
      { code: "FORBIDDEN" },
    ],
  ])("%s", async (_, field, details) => {
    const { url } = await startGateway({ upstream: await startMixed(), env });
    const body = JSON.stringify({ query: `mutation { ${field} }`, onError: "HALT" });
    const headers = { ...JSON_BODY, authorization: "token t0ken" };
    const { data, errors = [] } = JSON.parse(
      (await sendTo(`${url}/graphql`, { headers, body })).text,
    ) as Answer<unknown>;
    expect(data).toBe(null);
    const reported = errors.map(({ extensions: { code, outcome } }) => ({ code, outcome }));
    expect(reported).toEqual([details]);
  });
});
