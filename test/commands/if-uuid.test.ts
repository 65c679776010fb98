import { describe, expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

/* A new record can get the name of an old project or run. `ifUuid` identifies the intended one. */

const RECORD = { id: 3, name: "mnist", uuid: "u-1", last_status: "running" };

/** Starts a service whose records, if any, are all `record`. */
async function start(record: object | null = RECORD, env: Record<string, string> = {}) {
  const service = await startFake(({ method }) => {
    if (method !== "GET") return { text: "" };
    return record ? { json: record } : undefined;
  });
  const { ask } = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  return { ask, sent: service.inOrder };
}

const PROJECT = globalId("Project:ada/mnist");
const JOB = globalId("Job:ada/mnist/3");

const COMMANDS = [
  {
    call: `deleteProject(id: "ada.mnist", %)`,
    shown: "{ deletedId }",
    result: { deletedId: PROJECT },
    read: "GET ada/mnist",
    sent: "DELETE ada/mnist",
    name: "ada.mnist",
  },
  {
    call: `archiveProject(id: "${PROJECT}", %)`,
    shown: "{ project { id isArchived } }",
    result: { project: { id: PROJECT, isArchived: true } },
    read: "GET ada/mnist",
    sent: "POST ada/mnist/archive",
    name: "ada.mnist",
  },
  {
    call: `deleteRuns(ids: ["${JOB}"], %)`,
    shown: "{ results { code deletedId } }",
    result: { results: [{ code: null, deletedId: JOB }] },
    read: "GET ada/mnist/jobs/3/",
    sent: "DELETE ada/mnist/jobs/3/",
    name: "ada.mnist.jobs.3",
    isEach: true,
  },
] as const;

describe.each(COMMANDS)("$call", ({ call, shown, result, read, sent: command, name, ...more }) => {
  const mutation = (uuid: string) => `mutation { done: ${call.replace("%", `ifUuid: ${uuid}`)} ${shown} }`;
  /** The result if the command is not sent: an error, or a result with its code. */
  const refused = (code: string, message: unknown = expect.any(String)) =>
    "isEach" in more
      ? { data: { done: { results: [{ code, deletedId: null }] } }, errors: [] }
      : { data: { done: null }, errors: [{ at: "done", code, message }] };

  test("is sent after a read when the record has the uuid", async () => {
    const { ask, sent } = await start();
    expect(await ask(mutation(`"u-1"`))).toEqual({ data: { done: result } });
    expect(sent()).toEqual([read, command]);
  });

  test("returns CONFLICT and is not sent when the uuid differs", async () => {
    const { ask, sent } = await start();
    const message = `ifUuid: expected "u-1", the uuid of ${name}, got "u-0"`;
    expect(outcomeOf(await ask(mutation(`"u-0"`)))).toMatchObject(refused("CONFLICT", message));
    expect(sent()).toEqual([read]);
  });

  test.each([
    [null, "NOT_FOUND"],
    [{ ...RECORD, uuid: null }, "UPSTREAM_BAD_RESPONSE"],
  ])("is not sent when the uuid cannot be read: %j", async (record, code) => {
    const { ask, sent } = await start(record);
    expect(outcomeOf(await ask(mutation(`"u-1"`)))).toMatchObject(refused(code));
    expect(sent()).not.toContain(command);
  });

  test("rereads the record although another operation has just read it", async () => {
    const { ask, sent } = await start(RECORD, { CACHE_TTL_MS: "3600000" });
    await ask(`{ project(id: "ada.mnist") { uuid } job(id: "${JOB}") { uuid } }`);
    const before = sent().length;
    await ask(mutation(`"u-1"`));
    expect(sent().slice(before)).toEqual([read, command]);
  });

  test("reads nothing when no uuid is given", async () => {
    const { ask, sent } = await start();
    expect(await ask(mutation("null"))).toEqual({ data: { done: result } });
    expect(sent()).toEqual([command]);
  });
});

test.each([
  [
    `deleteRuns(ids: ["ada.mnist.jobs.3", "ada.mnist.jobs.4"], ifUuid: "u-1")`,
    "ids: expected one id with `ifUuid`, got 2",
  ],
  [
    `archiveProject(id: "ada.mnist", isArchived: false, ifUuid: "u-1")`,
    "ifUuid: expected none when restoring, because archived records cannot be read",
  ],
])("%s is refused before anything is sent", async (call, message) => {
  const { ask, sent } = await start();
  expect(outcomeOf(await ask(`mutation { done: ${call} { __typename } }`))).toEqual({
    data: { done: null },
    errors: [failure("done", "BAD_USER_INPUT", message)],
  });
  expect(sent()).toEqual([]);
});

test("without a project endpoint, the owner's list provides a project's uuid", async () => {
  const service = await startFake(({ method, path }) =>
    method === "GET" ? pageOf([{ ...RECORD, name: "other", uuid: "u-2" }, RECORD], { path }) : { text: "" },
  );
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
  expect(await ask(`mutation { deleteProject(id: "ada.mnist", ifUuid: "u-1") { deletedId } }`)).toEqual({
    data: { deleteProject: { deletedId: PROJECT } },
  });
  expect(service.inOrder()).toEqual(["GET ada?limit=500", "DELETE ada/mnist"]);
});

test("a project has the uuid of its record", async () => {
  const { ask, sent } = await start();
  expect(await ask(`{ project(id: "ada.mnist") { id reference uuid } }`)).toEqual({
    data: { project: { id: PROJECT, reference: "ada.mnist", uuid: "u-1" } },
  });
  expect(sent()).toEqual(["GET ada/mnist"]);
});
