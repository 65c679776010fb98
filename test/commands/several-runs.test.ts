import { describe, expect, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };
const IDS = `["${globalId("Experiment:ada/mnist/3")}", "ada.mnist.jobs.5", "ada.mnist.builds.7", "${globalId("Group:ada/mnist/2")}"]`;
const PATHS = ["experiments/3", "jobs/5", "builds/7", "groups/2"];
const KINDS = ["Experiment", "Job", "BuildJob", "Group"];

const startAny = async () => {
  const service = await startWilling();
  const { ask } = await startGateway({ upstream: service, env });
  return { ask, sent: () => service.inOrder().toSorted() };
};

describe("a mutation of several runs", () => {
  test.each([
    ["stopRuns", ", force: true", "POST", "/stop"],
    ["bookmarkRuns", "", "POST", "/bookmark/"],
    ["bookmarkRuns", ", isBookmarked: false", "DELETE", "/unbookmark/"],
    ["archiveRuns", "", "POST", "/archive"],
    ["archiveRuns", ", isArchived: false", "POST", "/restore"],
  ])("%s%s sends the command of its kind for each", async (name, more, method, end) => {
    const { ask, sent } = await startAny();
    expect(
      await ask(`mutation { done: ${name}(ids: ${IDS}${more}) { results { run { __typename } } } }`),
    ).toEqual({ data: { done: { results: KINDS.map((kind) => ({ run: { __typename: kind } })) } } });
    expect(sent()).toEqual(PATHS.map((path) => `${method} ada/mnist/${path}${end}`).toSorted());
  });

  test("sends one command for a run that is named twice", async () => {
    const { ask, sent } = await startAny();
    const ids = `["ada.mnist.jobs.5", "${globalId("Job:ada/mnist/5")}", "ada.mnist.jobs.5"]`;
    const { data } = await ask(
      `mutation { stopRuns(ids: ${ids}, force: true) { results { isSent run { id } } } }`,
    );
    const stopped = { isSent: true, run: { id: globalId("Job:ada/mnist/5") } };
    expect(data).toEqual({ stopRuns: { results: [stopped, stopped, stopped] } });
    expect(sent()).toEqual(["POST ada/mnist/jobs/5/stop"]);
  });

  test("tells of each whether it failed, also where nobody asks for the results", async () => {
    const service = await startFake(({ path }) =>
      path.includes("/jobs/6/") ? { status: 404, json: { detail: "Not found." } } : { json: {} },
    );
    const { ask } = await startGateway({ upstream: service, env });
    const mutation = (selection: string) =>
      `mutation { bookmarkRuns(ids: ["ada.mnist.jobs.5", "ada.mnist.jobs.6"]) { ${selection} } }`;
    expect(outcomeOf(await ask(mutation("results { run { id } }")))).toEqual({
      data: { bookmarkRuns: { results: [{ run: { id: globalId("Job:ada/mnist/5") } }, null] } },
      errors: [
        {
          ...failure("bookmarkRuns.results.1", "NOT_FOUND", "Not found: ada.mnist.jobs.6."),
          upstream: { method: "POST", route: "{owner}/{project}/jobs/{id}/bookmark/", status: 404 },
        },
      ],
    });
    expect(await ask(mutation("__typename"))).toEqual({
      data: { bookmarkRuns: { __typename: "RunsPayload" } },
    });
  });

  test("reads what may have finished, and stops the others", async () => {
    const service = await startFake(({ method, path }) =>
      method === "GET"
        ? { json: { id: 5, last_status: path.includes("/jobs/5/") ? "succeeded" : "running" } }
        : { json: {} },
    );
    const { ask } = await startGateway({ upstream: service, env });
    const ids = `["ada.mnist.jobs.5", "ada.mnist.builds.7"]`;
    const { data } = await ask(`mutation { stopRuns(ids: ${ids}) { results { isSent } } }`);
    expect(data).toEqual({ stopRuns: { results: [{ isSent: false }, { isSent: true }] } });
    expect(service.calls()).toEqual([
      "GET ada/mnist/builds/7/",
      "GET ada/mnist/jobs/5/",
      "POST ada/mnist/builds/7/stop",
    ]);
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
  ])("with ids that are wrong is refused unsent: %#", async (ids, message) => {
    const { ask, sent } = await startAny();
    expect(outcomeOf(await ask(`mutation { deleteRuns(ids: ${ids}) { results { deletedId } } }`))).toEqual({
      data: { deleteRuns: null },
      errors: [failure("deleteRuns", "BAD_USER_INPUT", message)],
    });
    expect(sent()).toEqual([]);
  });
});

describe("with HALT, which leaves no result, the error tells what became of a mutation", () => {
  /** Job 1 is stopped, 2 refused, 3 fails, 4 has finished, 5 does not exist, and the connection of 6 breaks. */
  const startMixed = () =>
    listen((request, response) => {
      const { method, url = "" } = request;
      const id = Number(/\/(?:jobs|experiments)\/(\d+)/.exec(url)?.[1]);
      const send = (status: number, json: object) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
      if (method === "GET")
        return send(id === 5 ? 404 : 200, { id, last_status: id === 4 ? "succeeded" : "running" });
      if (id === 6) return request.socket.destroy();
      return send(id === 2 ? 403 : id === 3 ? 500 : 200, {});
    });

  const halted = async (query: string) => {
    const { url } = await startGateway({ upstream: { url: await startMixed() }, env });
    const body = JSON.stringify({ query, onError: "HALT" });
    const headers = { "content-type": "application/json", authorization: "token t0ken" };
    const response = await fetch(`${url}/graphql`, { method: "POST", headers, body });
    const { data, errors } = (await response.json()) as Answer<unknown>;
    return { data, errors: errors?.map(({ extensions }) => extensions) ?? [] };
  };
  const ids = [1, 2, 3, 4, 5, 6].map((id) => `"ada.mnist.jobs.${id}"`).join();

  test("of several runs, for each of them", async () => {
    const mutation = `mutation { stopRuns(ids: [${ids}]) { results { isSent } } }`;
    expect(await halted(mutation)).toEqual({
      data: null,
      errors: [
        expect.objectContaining({
          code: "FORBIDDEN",
          outcomes: ["done", "refused", "unknown", "not sent", "not sent", "unknown"],
        }),
      ],
    });
  });

  test("of one run, whose record fails afterwards", async () => {
    const mutation = `mutation { stopJob(id: "ada.mnist.jobs.1", force: true) { job { experiment: project { experiments(first: 0) { totalCount } } } } }`;
    expect(await halted(mutation)).toEqual({
      data: null,
      errors: [expect.objectContaining({ code: "BAD_USER_INPUT", outcome: "unknown" })],
    });
  });

  test("and of a root field that fails no more than that", async () => {
    const { errors } = await halted(`mutation { stopJob(id: "ada.mnist.jobs.2", force: true) { isSent } }`);
    expect(errors).toEqual([expect.objectContaining({ code: "FORBIDDEN" })]);
    expect(errors[0]).not.toHaveProperty("outcome");
  });
});
