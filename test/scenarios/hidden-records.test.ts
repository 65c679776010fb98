import { describe, expect, test } from "vitest";
import { errorsOf, outcomeOf } from "../support/errors.ts";
import { pathIn, startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const PROJECT = { name: "mnist", unique_name: "ada.mnist", description: "Digits", num_jobs: 3, tags: null };
const STATES = { experiments: "succeeded", jobs: "failed", builds: "running", groups: "done" };

/** Starts a service that hides archived records. After a restore, a path is not found until it has been read a few more times. */
async function startHiding({ readsUntilShown = 0, isBroken = false } = {}) {
  const hidden = new Map<string, number>();
  const service = await startFake(({ method, path }) => {
    const [, record = "", command] = /^(.*?)(?:\/(archive|restore)|\/)?$/.exec(pathIn(path)) ?? [];
    if (command) {
      hidden.set(record, command === "archive" ? Number.POSITIVE_INFINITY : readsUntilShown);
      return { text: "", status: 200 };
    }
    const parent = [...hidden.keys()].find((each) => record.startsWith(each)) ?? "";
    const left = hidden.get(parent) ?? 0;
    if (left > 0) hidden.set(parent, left - 1);
    if (method !== "GET" || left > 0) return undefined;
    if (isBroken) return { json: {}, status: 500 };
    if (record === "ada/mnist") return { json: PROJECT };
    const [, kind, id] = /^ada\/mnist\/(\w+)\/(\d+)$/.exec(record) ?? [];
    const last_status = kind && kind in STATES ? STATES[kind as keyof typeof STATES] : null;
    return id
      ? { json: { id: Number(id), last_status, description: `of ${kind}` } }
      : { json: { results: [] } };
  });
  return { ...(await startGateway({ upstream: service, env: RELEASE_04 })), service };
}

const archive = (fields: string, isArchived = true) =>
  `mutation { done: archiveProject(id: "ada.mnist", isArchived: ${isArchived}) { project { ${fields} } } }`;

describe("a command that hides a record", () => {
  test("returns the selected fields, which are read beforehand", async () => {
    const { ask, service } = await startHiding();
    const fields = "id name description tags jobCount isArchived isBookmarked jobs { totalCount }";
    expect(await ask(archive(fields))).toEqual({
      data: {
        done: {
          project: {
            id: globalId("Project:ada/mnist"),
            name: "mnist",
            description: "Digits",
            tags: null,
            jobCount: 3,
            isArchived: true,
            isBookmarked: null,
            jobs: null,
          },
        },
      },
    });
    const requests = ["GET ada/mnist", "POST ada/mnist/archive", "GET ada/mnist/jobs"];
    expect(service.inOrder()).toEqual(requests);
  });

  test("reads nothing when the selection needs no record", async () => {
    const { ask, service } = await startHiding();
    expect(await ask(archive("uniqueName isArchived"))).toEqual({
      data: { done: { project: { uniqueName: "ada.mnist", isArchived: true } } },
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/archive"]);
  });

  test("reads runs of all kinds beforehand, each once", async () => {
    const { ask, service } = await startHiding();
    const kinds = Object.keys(STATES);
    const ids = kinds.map((kind) => `"ada.mnist.${kind}.7"`);
    const fields = "status description statuses { totalCount } ... on Group { concurrency }";
    const answer = await ask(
      `mutation { archiveRuns(ids: [${ids.join()}]) { results { outcome run { ${fields} } } } }`,
    );
    const run = (status: string, kind: string) => ({ status, description: `of ${kind}`, statuses: null });
    expect(answer).toEqual({
      data: {
        archiveRuns: {
          results: [
            run("SUCCEEDED", "experiments"),
            run("FAILED", "jobs"),
            run("RUNNING", "builds"),
            { ...run("DONE", "groups"), concurrency: null },
          ].map((each) => ({ outcome: "DONE", run: each })),
        },
      },
    });
    const paths = kinds.map((kind) => `ada/mnist/${kind}/7`);
    const sent = service.inOrder();
    expect(sent.slice(0, 4).toSorted()).toEqual(paths.map((path) => `GET ${path}/`).toSorted());
    expect(sent.slice(4, 8).toSorted()).toEqual(paths.map((path) => `POST ${path}/archive`).toSorted());
  });

  test("is sent even when the record cannot be read beforehand", async () => {
    const { ask, service } = await startHiding({ isBroken: true });
    const answer = await ask(archive("description isArchived"));
    expect(outcomeOf(answer)).toEqual({
      data: { done: { project: { description: null, isArchived: true } } },
      errors: [],
    });
    expect(service.inOrder().filter((call) => call.startsWith("POST"))).toEqual(["POST ada/mnist/archive"]);
  });
});

describe("a command that restores a hidden record", () => {
  test.each([
    ["some time later returns null without an error", 1, null],
    ["immediately returns the record", 0, "Digits"],
  ])("%s", async (_, readsUntilShown, description) => {
    const { ask, service } = await startHiding({ readsUntilShown });
    await ask(archive("id"));
    expect(await ask(archive("description isArchived", false))).toEqual({
      data: { done: { project: { description, isArchived: false } } },
    });
    expect(service.inOrder().slice(1)).toEqual(["POST ada/mnist/restore", "GET ada/mnist"]);
  });

  test.each([
    ["some time later", 1, null],
    ["at once", 0, { status: "SUCCEEDED", isFinished: true, isArchived: false }],
  ])("returns a run, or null if it is not visible yet: %s", async (_, readsUntilShown, run) => {
    const { ask, service } = await startHiding({ readsUntilShown });
    const restored = (fields: string) =>
      ask(
        `mutation { done: archiveRuns(ids: ["ada.mnist.experiments.7"], isArchived: false) { results { outcome run { ${fields} } } } }`,
      );
    expect(await restored("status isFinished isArchived")).toEqual({
      data: { done: { results: [{ outcome: "DONE", run }] } },
    });
    expect(service.inOrder()).toEqual([
      "POST ada/mnist/experiments/7/restore",
      "GET ada/mnist/experiments/7/",
    ]);
    expect(await restored("internalId isArchived")).toEqual({
      data: { done: { results: [{ outcome: "DONE", run: { internalId: "7", isArchived: false } }] } },
    });
    expect(service.inOrder().slice(2)).toEqual(["POST ada/mnist/experiments/7/restore"]);
  });

  test("fails if reading the record fails for another reason", async () => {
    const { ask } = await startHiding({ isBroken: true });
    expect(errorsOf(await ask(archive("description", false)))).toMatchObject([
      { at: "done.project.description", code: "UPSTREAM_ERROR" },
    ]);
  });
});
