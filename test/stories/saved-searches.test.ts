import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

const BEST = globalId("SavedSearch:ada/mnist/experiments/1");
const SEARCHES = "GET searches/ada/mnist/experiments";

/** The query parameters of a list of experiments. */
const list = (parameters: Readonly<Record<string, string>>) =>
  `GET ada/mnist/experiments?${new URLSearchParams(parameters)}`;

const inProject = (args: string) =>
  `{ project(owner: "ada", name: "mnist") { experiments(${args}) { nodes { uniqueName } } } }`;

describe("a saved search", () => {
  test.each([
    ["EXPERIMENT", "experiments"],
    ["JOB", "jobs"],
    ["BUILD_JOB", "builds"],
    ["GROUP", "groups"],
  ])("of the kind %s is saved, listed and deleted", async (kind, wire) => {
    const { ask, calls } = await startProfile();
    const listed = async () => {
      const { data } = await ask<
        { project: { savedSearches: { nodes: readonly { name: string }[] } } },
        object
      >(
        `{ project(owner: "ada", name: "mnist") { savedSearches(kind: ${kind}) { nodes { id name query sort meta } totalCount } } }`,
      );
      expect(calls()).toEqual([`GET searches/ada/mnist/${wire}`]);
      return data.project.savedSearches.nodes.filter(({ name }) => name !== "best");
    };
    const saved = await ask<{ saveSearch: { savedSearch: { id: string } } }, object>(
      `mutation { saveSearch(project: "ada.mnist", kind: ${kind}, input: {
        name: "mine", query: "status:running", sort: "-created_at", meta: { columns: ["a"] }
      }) { savedSearch { id name query sort meta } } }`,
    );
    const search = {
      id: globalId(`SavedSearch:ada/mnist/${wire}/2`),
      name: "mine",
      query: "status:running",
      sort: "-created_at",
      meta: { columns: ["a"] },
    };
    expect(saved).toEqual({ data: { saveSearch: { savedSearch: search } } });
    expect(calls()).toEqual([`POST searches/ada/mnist/${wire}`]);
    expect(await listed()).toEqual([search]);

    expect(await ask(`mutation { deleteSavedSearch(id: "${search.id}") { deletedId } }`)).toEqual({
      data: { deleteSavedSearch: { deletedId: search.id } },
    });
    expect(calls()).toEqual([`DELETE searches/ada/mnist/${wire}/2`]);
    expect(await listed()).toEqual([]);
  });

  test("with a name that is taken has another one", async () => {
    const { ask } = await startProfile();
    expect(
      await ask(`mutation { saveSearch(project: "ada.mnist", input: { name: "best", query: "" }) {
        savedSearch { name query sort meta }
      } }`),
    ).toEqual({
      data: { saveSearch: { savedSearch: { name: "best-1", query: "", sort: null, meta: {} } } },
    });
  });

  test("is the caller's own", async () => {
    const { ask, demo } = await startProfile();
    const token = tokenOf(demo, "grace");
    expect(
      await ask(`{ project(owner: "ada", name: "mnist") { savedSearches { totalCount } } }`, {}, { token }),
    ).toEqual({ data: { project: { savedSearches: { totalCount: 0 } } } });
    expect(codesOf(await ask(inProject(`savedSearch: "${BEST}"`), {}, { token }))).toEqual(["NOT_FOUND"]);
  });
});

describe("a list by a saved search", () => {
  test("has its filter and its order as they were saved, with a date behind for runs with equal values", async () => {
    const { ask, calls } = await startProfile();
    const byHand = await ask(
      inProject(`query: "status:succeeded", orderByMetric: { name: "accuracy", direction: DESC }, first: 2`),
    );
    calls();
    expect(await ask(inProject(`savedSearch: "${BEST}", first: 2`))).toEqual(byHand);
    expect(calls()).toEqual([
      list({ sort: "-metric.accuracy,-created_at", query: "status:succeeded", limit: "2" }),
      SEARCHES,
    ]);
  });

  test("is narrowed by the caller's own filters, and ordered by the caller's own order", async () => {
    const { ask, calls } = await startProfile();
    const { errors } = await ask(
      inProject(
        `savedSearch: "${BEST}", query: "metric.loss:<0.3", filter: { tags: ["wide"] }, orderBy: CREATED_ASC, first: 2`,
      ),
    );
    expect(errors).toBeUndefined();
    const [sent = "", ...others] = calls();
    expect(others).toEqual([SEARCHES]);
    const sentParameters = new URLSearchParams(sent.split("?")[1]);
    expect(sentParameters.get("query")).toBe("tags:wide,status:succeeded,metric.loss:<0.3");
    expect(sentParameters.get("sort")).toMatch(/^created_at\b/);
  });

  test("may be that of a group; several lists read the searches once", async () => {
    const { ask, calls } = await startProfile();
    const { data, errors } = await ask(`{ project(owner: "ada", name: "mnist") {
      experiments(savedSearch: "${BEST}", first: 1) { totalCount }
      group(internalId: 1) { experiments(savedSearch: "${BEST}", first: 1) { totalCount } }
    } }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      project: {
        experiments: { totalCount: expect.any(Number) as number },
        group: { experiments: { totalCount: 15 } },
      },
    });
    expect(calls().filter((call) => call.includes("searches"))).toEqual([SEARCHES]);
  });

  test("finds a search on a later page of the searches", async () => {
    const { ask, calls } = await startProfile();
    const save = Array.from(
      { length: 25 },
      (_, index) =>
        `s${index}: saveSearch(project: "ada.mnist", input: { name: "s", query: "" }) { __typename }`,
    );
    await ask(`mutation { ${save.join(" ")} }`);
    calls();
    expect((await ask(inProject(`savedSearch: "${BEST}", first: 1`))).errors).toBeUndefined();
    expect(calls().filter((call) => call.includes("searches"))).toEqual([SEARCHES, `${SEARCHES}?offset=20`]);
  });

  test("that is not there is null with NOT_FOUND, and no runs are asked for", async () => {
    const { ask, calls } = await startProfile();
    const gone = globalId("SavedSearch:ada/mnist/experiments/9");
    expect(outcomeOf(await ask(inProject(`savedSearch: "${gone}"`)))).toEqual({
      data: { project: { experiments: null } },
      errors: [failure("project.experiments", "NOT_FOUND", "The caller has no saved search with this id.")],
    });
    expect(calls()).toEqual([SEARCHES]);
  });

  test.each([
    [
      globalId("SavedSearch:ada/mnist/jobs/1"),
      "savedSearch: expected a search of the experiments of ada.mnist, got one of the jobs of ada.mnist",
    ],
    [
      globalId("SavedSearch:ada/speech/experiments/1"),
      "savedSearch: expected a search of the experiments of ada.mnist, got one of the experiments of ada.speech",
    ],
    [
      globalId("SavedSearch:ada/mnist/nodes/1"),
      "savedSearch: expected the id of a search of runs, got one of nodes",
    ],
    [globalId("SavedSearch:ada/mnist/experiments/x"), `savedSearch: expected an integer such as 42, got "x"`],
    [
      globalId("Project:ada/mnist"),
      `savedSearch: expected the id of a SavedSearch, got "${globalId("Project:ada/mnist")}"`,
    ],
    ["best", `savedSearch: expected the id of a SavedSearch, got "best"`],
  ])("%s is refused before anything is sent", async (id, message) => {
    const { ask, calls } = await startProfile();
    expect(outcomeOf(await ask(inProject(`savedSearch: "${id}"`)))).toEqual({
      data: { project: { experiments: null } },
      errors: [failure("project.experiments", "BAD_USER_INPUT", message)],
    });
    expect(calls()).toEqual([]);
  });

  test("with other arguments that cannot be used asks for no searches either", async () => {
    const { ask, calls } = await startProfile();
    expect(codesOf(await ask(inProject(`savedSearch: "${BEST}", filter: { tags: ["a,b"] }`)))).toEqual([
      "BAD_USER_INPUT",
    ]);
    expect(codesOf(await ask(inProject(`savedSearch: "${BEST}", first: 0`)))).toEqual(["BAD_USER_INPUT"]);
    expect(calls()).toEqual([]);
  });

  test("whose filter or order the service did not save as text is a list without them", async () => {
    const service = await startFake(({ path }) => ({
      json: path.includes("searches")
        ? {
            count: 1,
            next: null,
            previous: null,
            results: [{ id: 1, name: "odd", query: { query: 7, sort: [] } }],
          }
        : { count: 0, next: null, previous: null, results: [] },
    }));
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    expect((await ask(inProject(`savedSearch: "${BEST}", first: 1`))).errors).toBeUndefined();
    expect(service.calls()).toEqual(["GET ada/mnist/experiments?limit=1", SEARCHES]);
  });

  test.each(["document", "polyaxon-0.2"] as const)("is not there with %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const answer = await ask(`mutation {
      saveSearch(project: "ada.mnist", input: { name: "x", query: "" }) { __typename }
      deleteSavedSearch(id: "${BEST}") { __typename }
    }`);
    expect(codesOf(answer)).toEqual(["CAPABILITY_UNAVAILABLE", "CAPABILITY_UNAVAILABLE"]);
    expect(codesOf(await ask(inProject(`savedSearch: "${BEST}"`)))).toEqual(["CAPABILITY_UNAVAILABLE"]);
    expect(
      codesOf(await ask(`{ project(owner: "ada", name: "mnist") { savedSearches { totalCount } } }`)),
    ).toEqual(["CAPABILITY_UNAVAILABLE"]);
    expect(calls()).toEqual([]);
  });
});
