import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { callOf, type Command, commandCalled, idOf, routeOf, silentCommands } from "../support/commands.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { html } from "../support/replies.ts";

/** Commands whose answer the document does not show, and whose payload holds the record. */
const acts = silentCommands.filter(({ kind, name }) => kind && !name.startsWith("delete"));

/** A line of the log that is a warning or an error. */
const COMPLAINT = /"level":[4-6]0/;

/** All of a payload that the address of its record tells, and what that is. */
function addressOf(command: Command) {
  const name = command.name;
  const kind = command.kind;
  const { mutation, path } = command;
  // Of an experiment the address does not tell the name: it may hold a group's number.
  const uniqueName = kind === "Experiment" ? undefined : /"([^"]+)"/.exec(mutation)?.[1];
  if (name === "deleteUser") {
    return {
      selection: "{ deletedId deletedUsername }",
      told: { deletedId: globalId("User:linus"), deletedUsername: "linus" },
    };
  }
  if (kind === null) {
    return {
      selection: "{ user { __typename id username } }",
      told: { user: { __typename: "User", id: globalId("User:linus"), username: "linus" } },
    };
  }
  const project = {
    id: globalId("Project:ada/mnist"),
    uniqueName: "ada.mnist",
    owner: { username: "ada" },
  };
  const ofProject = "project { id uniqueName owner { username } }";
  if (name.startsWith("delete")) {
    return { selection: `{ deletedId ${ofProject} }`, told: { deletedId: idOf(command), project } };
  }
  return {
    selection: `{ ${command.field} { __typename id internalId ${uniqueName ? "uniqueName" : ""} ${ofProject} } }`,
    told: {
      [command.field]: {
        __typename: kind,
        id: idOf(command),
        internalId: path.split("/")[3],
        ...(uniqueName && { uniqueName }),
        project,
      },
    },
  };
}

describe("where the document shows no answer, any answer will do and none is read", () => {
  test.each([
    ["nothing", { text: "", headers: { "content-type": "text/html; charset=utf-8" } }],
    ["nothing, with 204", { status: 204, text: "" }],
    ["a record, with 201", { status: 201, json: { id: 900, unique_name: "bob.secret.900" } }],
    ["a JSON string, with 202", { status: 202, json: "queued" }],
    ["a page", html(200)],
    ["JSON that ends in the middle", { text: `{"id": `, headers: { "content-type": "application/json" } }],
    ["what says gzip and is none", { text: "Sorry", headers: { "content-encoding": "gzip" } }],
    [
      "half of something gzipped",
      { text: gzipSync("Sorry".repeat(999)).subarray(0, 25), headers: { "content-encoding": "gzip" } },
    ],
  ] satisfies [string, Told][])("%s", async (_, told) => {
    const service = await startFake(() => told);
    const { ask, logged } = await startGateway({ upstream: service });
    for (const command of silentCommands) {
      const { selection, told: address } = addressOf(command);
      expect(await ask(`mutation { done: ${command.mutation} ${selection} }`)).toEqual({
        data: { done: address },
      });
    }
    expect(service.inOrder()).toEqual(silentCommands.map((command) => callOf(command)));
    expect(logged()).not.toMatch(COMPLAINT);
  });
});

/** A service whose records tell how many commands came before they were read. */
async function startCounting() {
  let commandsSoFar = 0;
  return startFake(({ method, path }) => {
    if (method !== "GET") {
      commandsSoFar++;
      return { text: "" };
    }
    const id = Number(path.split("/").findLast((part) => /^\d+$/.test(part)));
    return { json: { id, description: `after ${commandsSoFar}`, last_status: "running", bookmarked: true } };
  });
}

describe("what is selected beyond the address is read once, after the command", () => {
  test.each(acts.map((command) => [command.name, command] as const))("%s", async (_, command) => {
    const field = command.field;
    const service = await startCounting();
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`mutation {
      done: ${command.mutation} {
        ${field} { id description status }
        again: ${field} { description bookmarked }
      }
    }`);
    expect(answer).toEqual({
      data: {
        done: {
          [field]: { id: idOf(command), description: "after 1", status: "RUNNING" },
          again: { description: "after 1", bookmarked: true },
        },
      },
    });
    const [owner, project, kind, id] = command.path.split("/");
    expect(service.inOrder()).toEqual([callOf(command), `GET ${owner}/${project}/${kind}/${id}/`]);
  });

  test("the dotted name of an experiment, however the caller named it: it may lie in a group", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? { json: { id: 3, unique_name: "ada.mnist.2.3" } } : { text: "" },
    );
    const { ask } = await startGateway({ upstream: service });
    const names = [idOf(commandCalled("stopExperiment")), "ada.mnist.3"];
    for (const id of names) {
      expect(await ask(`mutation { stopExperiment(id: "${id}") { experiment { uniqueName } } }`)).toEqual({
        data: { stopExperiment: { experiment: { uniqueName: "ada.mnist.2.3" } } },
      });
    }
    expect(service.inOrder()).toEqual(
      names.flatMap(() => ["POST ada/mnist/experiments/3/stop", "GET ada/mnist/experiments/3/"]),
    );
  });
});

describe("a record that cannot be read after its command is one error, and what its address tells is there", () => {
  const crashed = (at: string, route: string) =>
    failure(at, "UPSTREAM_ERROR", "The service answered 500.", {
      upstream: { method: "GET", route, status: 500 },
    });

  /** A service that takes commands and fails at reading. */
  const startUnreadable = () =>
    startFake(({ method }) => (method === "GET" ? html(500) : { json: { id: 77, values: { loss: 0.5 } } }));

  test.each(acts.map((command) => [command.name, command] as const))("%s", async (_, command) => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const field = command.field;
    const answer = await ask(
      `mutation { done: ${command.mutation} { known: ${field} { id status } ${field} { id rawStatus description } } }`,
    );
    const route = routeOf(command).replace(/\{id\}\/.*$/, "{id}/");
    expect(outcomeOf(answer)).toEqual({
      // A status is never null, so it takes its record with it.
      data: { done: { known: null, [field]: { id: idOf(command), rawStatus: null, description: null } } },
      errors: [
        {
          ...crashed("done.known", route),
          paths: [
            ["done", "known"],
            ["done", field, "rawStatus"],
            ["done", field, "description"],
          ],
        },
      ],
    });
  });
});
