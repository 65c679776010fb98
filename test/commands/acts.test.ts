import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { callOf, type Command, commandCalled, idOf, routeOf, silentCommands } from "../support/commands.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { html, PAGE } from "../support/replies.ts";

/** Commands whose response is not in the document, and whose payload contains the record. */
const acts = silentCommands.filter(({ kind, name }) => kind && !name.startsWith("delete"));

/** Matches a log line that is a warning or an error. */
const COMPLAINT = /"level":[4-6]0/;

/** The values of a payload that are known from the path of its record. */
function addressOf(command: Command) {
  const { name, kind, field, path } = command;
  const id = kind === null ? globalId("User:linus") : idOf(command);
  const project = { uniqueName: "ada.mnist", owner: { username: "ada" } };
  if (name.startsWith("delete")) return { selection: "{ deletedId }", reported: { deletedId: id } };
  const user = { id, username: "linus" };
  if (name === "activateUser")
    return { selection: "{ isActive user { id username } }", reported: { isActive: true, user } };
  if (kind === null) return { selection: "{ user { id username } }", reported: { user } };
  return {
    selection: `{ ${field} { __typename id internalId project { uniqueName owner { username } } } }`,
    reported: { [field]: { __typename: kind, id, internalId: path.split("/")[3], project } },
  };
}

describe("commands without a documented response accept and ignore", () => {
  test.each([
    ["nothing, with 204", { status: 204, text: "" }],
    ["a record, with 201", { status: 201, json: { id: 900, unique_name: "bob.secret.900" } }],
    ["a page without a body", html(200, "")],
    ["text without a type", { text: "Done.", headers: { "content-type": "" } }],
    ["an invalid body labelled gzip", { text: "Sorry", headers: { "content-encoding": "gzip" } }],
  ] satisfies [string, FakeResponse][])("%s", async (_, reported) => {
    const { ask, logged, service } = await startBefore(() => reported);
    for (const command of silentCommands) {
      const { selection, reported: address } = addressOf(command);
      expect(await ask(`mutation { done: ${command.mutation} ${selection} }`)).toEqual({
        data: { done: address },
      });
    }
    expect(service.inOrder()).toEqual(silentCommands.map((command) => callOf(command)));
    expect(logged()).not.toMatch(COMPLAINT);
  });
});

test.each(["text/html", "Text/HTML; charset=utf-8", ""])(
  "a command answered with a page of type %j has an unknown outcome",
  async (type) => {
    const { ask, service } = await startBefore(() => ({ ...html(200), headers: { "content-type": type } }));
    for (const command of silentCommands) {
      const { selection } = addressOf(command);
      const { errors } = await ask(`mutation { done: ${command.mutation} ${selection} }`);
      expect(errors).toMatchObject([
        {
          message: "The service responded with an HTML page.",
          extensions: { code: "UPSTREAM_BAD_RESPONSE", outcome: "unknown", upstream: { status: 200 } },
        },
      ]);
    }
    expect(service.inOrder()).toEqual(silentCommands.map((command) => callOf(command)));
  },
);

describe("a command answered with an untyped page has an unknown outcome", () => {
  test.each<[string, Record<string, string>, (string | Buffer)[]]>([
    ["after white space in chunks of its own", {}, ["\uFEFF", "\r\n\r\n", PAGE]],
    ["after long white space", {}, [" ".repeat(2_000) + PAGE]],
    ["in gzip", { "content-encoding": "gzip" }, [gzipSync(PAGE)]],
  ])("%s", async (_, headers, chunks) => {
    const { ask } = await startBefore(() => async (response: ServerResponse) => {
      response.writeHead(200, headers);
      for (const chunk of chunks) {
        response.write(chunk);
        await sleep(20);
      }
      response.end();
    });
    // Safe: there is at least one such command.
    const command = acts[0] as Command;
    expect(
      errorsOf(await ask(`mutation { ${command.mutation} ${addressOf(command).selection} }`)),
    ).toMatchObject([{ message: "The service responded with an HTML page.", outcome: "unknown" }]);
  });
});

test("removing a missing bookmark succeeds unless the record itself is missing", async () => {
  const records: Readonly<Record<string, string>> = {
    "ada/mnist/jobs/3/": "ada.mnist.jobs.3",
    "ada/mnist": "ada.mnist",
  };
  // A DELETE receives 404 with JSON. Known servers send this response in both cases.
  const service = await startFake(({ method, path }) => {
    const name = records[path.replace("/api/v1/", "")];
    return method === "GET" && name ? { json: { id: 3, name: "mnist", unique_name: name } } : undefined;
  });
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const answer = await ask(`mutation {
    runs: bookmarkRuns(ids: ["ada.mnist.jobs.3", "ada.mnist.builds.3"], isBookmarked: false) { results { outcome run { id } } }
    project: bookmarkProject(id: "ada.mnist", isBookmarked: false) { project { uniqueName } }
  }`);
  expect(answer).toEqual({
    data: {
      runs: {
        results: [
          { outcome: "DONE", run: { id: globalId("Job:ada/mnist/3") } },
          { outcome: "NOT_FOUND", run: null },
        ],
      },
      project: { project: { uniqueName: "ada.mnist" } },
    },
  });
  const runs = ["jobs/3", "builds/3"].map((run) => `ada/mnist/${run}/`);
  const calls = runs.flatMap((run) => [`DELETE ${run}unbookmark/`, `GET ${run}`]);
  expect(new Set(service.calls())).toEqual(
    new Set([...calls, "DELETE ada/mnist/unbookmark", "GET ada/mnist"]),
  );
  expect(service.calls()).toHaveLength(6);
});

describe("fields that the id lacks are read once, after the command", () => {
  test.each(acts)("$name", async (command) => {
    const { field, mutation, path } = command;
    let commandsSoFar = 0;
    const { ask, service } = await startBefore(({ method, path: asked }) => {
      if (method !== "GET") return (commandsSoFar++, { text: "" });
      const id = Number(asked.split("/").findLast((part) => /^\d+$/.test(part)));
      return { json: { id, description: `after ${commandsSoFar}`, last_status: "running" } };
    });
    const fields = `${field} { id description status } again: ${field} { description }`;
    const again = { description: "after 1" };
    expect(await ask(`mutation { done: ${mutation} { ${fields} } }`)).toEqual({
      data: { done: { [field]: { id: idOf(command), status: "RUNNING", ...again }, again } },
    });
    expect(service.inOrder()).toEqual([callOf(command), `GET ${path.split("/").slice(0, 4).join("/")}/`]);
  });
});

test.each([...acts, ...["updateExperiment", "copyExperiment"].map(commandCalled)])(
  "after $name, an unreadable record causes one error and keeps its id",
  async (command) => {
    const { field, kind, mutation } = command;
    const { ask } = await startBefore(({ method }) => (method === "GET" ? html(500) : { json: { id: 77 } }));
    const fields = `known: ${field} { id status } ${field} { id rawStatus description }`;
    const route = routeOf(command).replace(/\{id\}\/.*$/, "{id}/");
    const id = command.name.startsWith("copy") ? globalId(`${kind}:ada/mnist/77`) : idOf(command);
    const details = {
      upstream: { method: "GET", route, status: 500 },
      paths: [["known"], [field, "rawStatus"], [field, "description"]].map((at) => ["done", ...at]),
    };
    expect(outcomeOf(await ask(`mutation { done: ${mutation} { ${fields} } }`))).toEqual({
      // A status is never null, so its error makes the record null.
      data: { done: { known: null, [field]: { id, rawStatus: null, description: null } } },
      errors: [failure("done.known", "UPSTREAM_ERROR", "The service answered 500.", details)],
    });
  },
);

test("one read fills only the fields that a command's response lacked", async () => {
  const made = { id: 61, last_status: "created", original: "ada.mnist.3" };
  const later = { ...made, last_status: "scheduled", is_clone: true, bookmarked: false, num_jobs: 1 };
  const { ask, service } = await startBefore(({ method }) =>
    method === "GET" ? { json: later } : { status: 201, json: made },
  );
  const answer = await ask(`mutation { done: ${commandCalled("copyExperiment").mutation} {
    experiment { status isBookmarked }
    again: experiment { rawStatus jobCount }
  } }`);
  expect(answer).toEqual({
    data: {
      done: {
        experiment: { status: "CREATED", isBookmarked: false },
        again: { rawStatus: "created", jobCount: 1 },
      },
    },
  });
  expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/copy", "GET ada/mnist/experiments/61/"]);
});
