import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { AdministrationDocument, RestartDocument } from "../generated/graphql.ts";
import { callOf, type Command, commandCalled, commands, idOf, routeOf, silentCommands } from "../support/commands.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { onWire, type Seen, startFake, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { withDeadline } from "../support/patience.ts";
import { readRecording } from "../support/replay.ts";
import { detail, html } from "../support/replies.ts";

/** A service that takes every command and answers what would do for any of them. */
const startWilling = () => startFake(() => ({ json: { id: 77, token: "n3w" } }));

describe("every writing row of the service's document has its mutation", () => {
  test.each(commands.map((command) => [command.row, command.name, command] as const))(
    "%s is %s",
    async (_, name, command) => {
      const { mutation, path, body } = command;
      const byId = mutation.replace(/id: "[^"]+"/, `id: "${idOf(command)}"`);
      const service = await startWilling();
      const { ask } = await startGateway({ upstream: service, token: "t0ken" });
      const payload = { __typename: `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload` };
      for (const spelled of [mutation, byId]) {
        expect(await ask(`mutation { done: ${spelled} { __typename } }`)).toEqual({
          data: { done: payload },
        });
      }
      const seen = service.seen().map(({ headers, body: sent, ...request }) => ({
        method: request.method,
        path: request.path,
        authorization: headers["authorization"],
        contentType: headers["content-type"],
        body: sent === "" ? undefined : JSON.parse(sent),
      }));
      const expected = {
        method: command.method,
        path: `/api/v1/${path}`,
        authorization: name === "login" ? undefined : "token t0ken",
        contentType: body && "application/json",
        body,
      };
      expect(seen).toEqual([expected, expected]);
    },
  );
});

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
      expect(await ask(`mutation { done: ${command.mutation} ${selection} }`)).toEqual({ data: { done: address } });
    }
    expect(service.inOrder()).toEqual(silentCommands.map((command) => callOf(command)));
    expect(logged()).not.toMatch(COMPLAINT);
  });

  test("even one that breaks off behind its head", async () => {
    const url = await listen((_, response) => {
      response.writeHead(201, { "content-length": 5_000 });
      response.write("{", () => response.destroy());
    });
    const { ask, logged } = await startGateway({ upstream: { url } });
    for (const command of silentCommands) {
      const { selection, told } = addressOf(command);
      expect(await ask(`mutation { done: ${command.mutation} ${selection} }`)).toEqual({ data: { done: told } });
    }
    expect(logged()).not.toMatch(COMPLAINT);
  });

  test("the links to its log and outputs belong to the address", async () => {
    const service = await startFake(() => ({ text: "" }));
    const { ask, url } = await startGateway({ upstream: service });
    const stop = commandCalled("stopExperiment");
    const answer = await ask(`mutation { ${stop.mutation} { experiment { logsUrl outputsUrl } } }`);
    expect(answer).toEqual({
      data: {
        stopExperiment: {
          experiment: {
            logsUrl: `${url}/downloads/${idOf(stop)}/logs`,
            outputsUrl: `${url}/downloads/${idOf(stop)}/outputs`,
          },
        },
      },
    });
    expect(service.seen()).toHaveLength(1);
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
    expect(service.inOrder()).toEqual([
      callOf(command),
      `GET ${owner}/${project}/${kind}/${id}/`,
    ]);
  });

  test("the experiment of a new metric", async () => {
    const service = await startFake(({ method }) =>
      method === "GET"
        ? { json: { id: 3, last_metric: { loss: 0.5 } } }
        : { status: 201, json: { id: 9, created_at: "2026-02-01T10:00:00+01:00", values: { loss: 0.5 } } },
    );
    const { ask } = await startGateway({ upstream: service });
    const input = `{ values: [{ name: "loss", value: 0.5 }] }`;
    const record = (selection: string) =>
      ask(
        `mutation { done: createExperimentMetric(id: "ada.mnist.3", input: ${input}) {
          metric { id internalId createdAt values { name value } }
          experiment { ${selection} }
        } }`,
      );
    const metric = {
      id: globalId("MetricRecord:ada/mnist/3/9"),
      internalId: "9",
      createdAt: "2026-02-01T10:00:00+01:00",
      values: [{ name: "loss", value: 0.5 }],
    };
    const post = "POST ada/mnist/experiments/3/metrics";

    expect(await record("internalId")).toEqual({
      data: { done: { metric, experiment: { internalId: "3" } } },
    });
    expect(service.inOrder()).toEqual([post]);
    expect(await record("lastMetric { name value }")).toEqual({
      data: { done: { metric, experiment: { lastMetric: [{ name: "loss", value: 0.5 }] } } },
    });
    expect(service.inOrder()).toEqual([post, post, "GET ada/mnist/experiments/3/"]);
  });

  test("the dotted name of an experiment, however the caller named it: it may lie in a group", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? { json: { id: 3, unique_name: "ada.mnist.2.3" } } : { text: "" },
    );
    const { ask } = await startGateway({ upstream: service });
    const names = [idOf(commandCalled("stopExperiment")), "ada.mnist.3", "ada.mnist.7.3"];
    for (const id of names) {
      expect(await ask(`mutation { stopExperiment(id: "${id}") { experiment { uniqueName } } }`)).toEqual({
        data: { stopExperiment: { experiment: { uniqueName: "ada.mnist.2.3" } } },
      });
    }
    expect(service.inOrder()).toEqual(
      names.flatMap(() => ["POST ada/mnist/experiments/3/stop", "GET ada/mnist/experiments/3/"]),
    );
  });

  test("an update reads nothing: its answer is the record", async () => {
    const service = await startFake(() => ({
      json: { id: 3, unique_name: "ada.mnist.3", description: "Best", last_status: "running", tags: ["a"] },
    }));
    const { ask } = await startGateway({ upstream: service });
    const { mutation } = commandCalled("updateExperiment");
    expect(
      await ask(`mutation { done: ${mutation} { experiment { uniqueName description status tags } } }`),
    ).toEqual({
      data: {
        done: {
          experiment: { uniqueName: "ada.mnist.3", description: "Best", status: "RUNNING", tags: ["a"] },
        },
      },
    });
    expect(service.inOrder()).toEqual(["PATCH ada/mnist/experiments/3/"]);
  });

  test("a user's details are known of the caller only, as they are afterwards", async () => {
    const service = await startFake(({ method }) =>
      method === "GET"
        ? { json: { username: "ada", email: "ada@example.com", is_superuser: false } }
        : { text: "" },
    );
    const { ask } = await startGateway({ upstream: service });
    const of = (username: string) =>
      ask(`mutation { revokeSuperuser(username: "${username}") { user { username isSuperuser isViewer } } }`);
    expect(await of("ada")).toEqual({
      data: { revokeSuperuser: { user: { username: "ada", isSuperuser: false, isViewer: true } } },
    });
    expect(await of("grace")).toEqual({
      data: { revokeSuperuser: { user: { username: "grace", isSuperuser: null, isViewer: false } } },
    });
    expect(service.inOrder()).toEqual([
      "DELETE superusers/revoke/ada/",
      "GET users/",
      "DELETE superusers/revoke/grace/",
      "GET users/",
    ]);
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
          ...crashed(`done.${field}.rawStatus`, route),
          paths: [
            ["done", field, "rawStatus"],
            ["done", field, "description"],
            ["done", "known"],
          ],
        },
      ],
    });
  });

  test("createExperimentMetric", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("createExperimentMetric");
    const answer = await ask(
      `mutation { done: ${mutation} { metric { internalId } experiment { status } } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: { done: { metric: { internalId: "77" }, experiment: null } },
      errors: [crashed("done.experiment", "{owner}/{project}/experiments/{id}/")],
    });
  });

  test("restartExperiment", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("restartExperiment");
    const answer = await ask(
      `mutation { done: ${mutation} { known: experiment { internalId } experiment { isClone } source { id } } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: {
        done: {
          known: { internalId: "77" },
          experiment: { isClone: null },
          source: { id: globalId("Experiment:ada/mnist/3") },
        },
      },
      errors: [crashed("done.experiment.isClone", "{owner}/{project}/experiments/{id}/")],
    });
  });

  test("updateExperiment, when its answer lacks what is selected", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("updateExperiment");
    const answer = await ask(
      `mutation { done: ${mutation} { known: experiment { internalId } experiment { description } } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: { done: { known: { internalId: "3" }, experiment: { description: null } } },
      errors: [crashed("done.experiment.description", "{owner}/{project}/experiments/{id}/")],
    });
  });

  test("grantSuperuser: the user's name is there", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("grantSuperuser");
    const answer = await ask(`mutation { done: ${mutation} { user { username isSuperuser } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { done: { user: { username: "linus", isSuperuser: null } } },
      errors: [crashed("done.user.isSuperuser", "users/")],
    });
  });
});

/** The keys that the document gives the answer of restart, resume and copy. */
const reduced = {
  id: 61,
  uuid: "3ee289314c434bf7a45bdb22f768c2ca",
  name: null,
  unique_name: "ada.mnist.61",
  user: "grace",
  description: "Once more",
  created_at: "2026-02-01T10:00:00.123456+01:00",
  updated_at: "2026-02-01T10:00:00.123457+01:00",
  started_at: null,
  finished_at: null,
  last_status: "created",
  original: "ada.mnist.3",
  project: "ada.mnist",
  experiment_group: null,
  build_job: null,
  tags: null,
};

describe("a clone", () => {
  /** A service that clones, and reads the new record as it is a moment later. */
  const startCloning = (answer: object = reduced) =>
    startFake(({ method }) =>
      method === "GET"
        ? { json: { ...reduced, last_status: "scheduled", is_clone: true, bookmarked: false, num_jobs: 1 } }
        : { status: 201, json: answer },
    );

  test.each(["restartExperiment", "resumeExperiment", "copyExperiment"])(
    "%s tells of the new record what the answer held, without a request",
    async (name) => {
      const service = await startCloning();
      const { ask } = await startGateway({ upstream: service });
      const command = commandCalled(name);
      const answer = await ask(`mutation {
        done: ${command.mutation} {
          experiment {
            id internalId uniqueName uuid name description status rawStatus phase isFinished tags
            createdAt updatedAt startedAt finishedAt durationSeconds
            user { username } project { uniqueName } experimentGroup { id } buildJob { id }
            original { id uniqueName }
          }
          source { id internalId }
        }
      }`);
      const source = { id: globalId("Experiment:ada/mnist/3") };
      expect(answer).toEqual({
        data: {
          done: {
            experiment: {
              id: globalId("Experiment:ada/mnist/61"),
              internalId: "61",
              uniqueName: "ada.mnist.61",
              uuid: reduced.uuid,
              name: null,
              description: "Once more",
              status: "CREATED",
              rawStatus: "created",
              phase: "PENDING",
              isFinished: false,
              tags: null,
              createdAt: reduced.created_at,
              updatedAt: reduced.updated_at,
              startedAt: null,
              finishedAt: null,
              durationSeconds: null,
              user: { username: "grace" },
              project: { uniqueName: "ada.mnist" },
              experimentGroup: null,
              buildJob: null,
              original: { ...source, uniqueName: "ada.mnist.3" },
            },
            source: { ...source, internalId: "3" },
          },
        },
      });
      expect(service.inOrder()).toEqual([`POST ${command.path}`]);
    },
  );

  test("fills in only what the answer lacked, with one request", async () => {
    const service = await startCloning();
    const { ask } = await startGateway({ upstream: service });
    const { mutation } = commandCalled("copyExperiment");
    const answer = await ask(`mutation {
      done: ${mutation} {
        experiment { status isClone bookmarked }
        again: experiment { rawStatus jobCount }
      }
    }`);
    expect(answer).toEqual({
      data: {
        done: {
          experiment: { status: "CREATED", isClone: true, bookmarked: false },
          again: { rawStatus: "created", jobCount: 1 },
        },
      },
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/copy", "GET ada/mnist/experiments/61/"]);
  });

  test("of an experiment in a group lies where its answer says", async () => {
    const service = await startCloning({
      ...reduced,
      unique_name: "ada.mnist.2.61",
      experiment_group: "ada.mnist.2",
      original: "ada.mnist.2.3",
    });
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`mutation {
      resumeExperiment(id: "ada.mnist.2.3") {
        experiment { id uniqueName experimentGroup { id } original { id uniqueName } }
        source { internalId }
      }
    }`);
    expect(answer).toEqual({
      data: {
        resumeExperiment: {
          experiment: {
            id: globalId("Experiment:ada/mnist/61"),
            uniqueName: "ada.mnist.2.61",
            experimentGroup: { id: globalId("Group:ada/mnist/2") },
            original: { id: globalId("Experiment:ada/mnist/3"), uniqueName: "ada.mnist.2.3" },
          },
          source: { internalId: "3" },
        },
      },
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/resume/"]);
  });

  test.each(["restartJob", "resumeJob", "copyJob"])(
    "%s names its source also when the answer does not",
    async (name) => {
      const { original: _, experiment_group: __, ...rest } = reduced;
      const service = await startCloning({ ...rest, unique_name: "ada.mnist.jobs.61" });
      const { ask } = await startGateway({ upstream: service });
      const command = commandCalled(name);
      const answer = await ask(
        `mutation { done: ${command.mutation} { job { id uniqueName status } source { id uniqueName } } }`,
      );
      expect(answer).toEqual({
        data: {
          done: {
            job: {
              id: globalId("Job:ada/mnist/61"),
              uniqueName: "ada.mnist.jobs.61",
              status: "CREATED",
            },
            source: { id: globalId("Job:ada/mnist/5"), uniqueName: "ada.mnist.jobs.5" },
          },
        },
      });
      expect(service.inOrder()).toEqual([`POST ${command.path}`]);
    },
  );

  test("reads its source when more of it is selected than its address", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? { json: { id: 3, last_status: "succeeded" } } : { status: 201, json: reduced },
    );
    const { ask } = await startGateway({ upstream: service });
    const { mutation } = commandCalled("restartExperiment");
    expect(await ask(`mutation { done: ${mutation} { experiment { status } source { status } } }`)).toEqual({
      data: { done: { experiment: { status: "CREATED" }, source: { status: "SUCCEEDED" } } },
    });
    expect(service.inOrder()).toEqual([
      "POST ada/mnist/experiments/3/restart/",
      "GET ada/mnist/experiments/3/",
    ]);
  });

  test("of the demo: the restart button takes two requests", async () => {
    const { ask, demo } = await startDemoGateway();
    const { data, errors } = await ask(RestartDocument, { id: "ada.mnist.42" });
    expect(errors).toBeUndefined();
    const of = (id: number) => globalId(`Experiment:ada/mnist/${id}`);
    expect(data).toEqual({
      restartExperiment: {
        experiment: {
          id: of(61),
          uniqueName: "ada.mnist.61",
          status: "CREATED",
          isClone: true,
          config: { run: { cmd: expect.stringContaining("python train.py --lr=0.021") } },
          lastMetric: [],
          original: { id: of(42), uniqueName: "ada.mnist.42" },
        },
        source: { id: of(42) },
      },
    });
    expect(demo.calls()).toEqual([
      "POST /api/v1/ada/mnist/experiments/42/restart/",
      "GET /api/v1/ada/mnist/experiments/61/",
    ]);
  });
});

/** What a service that would take everything sees of a mutation that the gateway refuses, and the errors. */
async function refused(mutation: string, variables: object | string = {}) {
  const service = await startWilling();
  const { url } = await startGateway({ upstream: service });
  const given = typeof variables === "string" ? variables : JSON.stringify(variables);
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken" },
    // Written by hand, so that variables can be what JSON.stringify does not write.
    body: `{"query": ${JSON.stringify(mutation)}, "variables": ${given}}`,
  });
  const { data = null, errors = [] } = (await response.json()) as Partial<Answer<unknown>>;
  return { data, codes: codesOf({ errors }), errors, seen: service.seen() };
}

describe("an update", () => {
  const update = `mutation ($input: UpdateExperimentInput!) {
    updateExperiment(id: "ada.mnist.3", input: $input) { experiment { id } }
  }`;

  test.each([
    ["a new text", "Best so far"],
    ["an empty one", ""],
    ["null, which clears it", null],
    ["any characters", 'Größe "≤" 3 \\ \n\t🚀 \u0000'],
  ])("sends %s as it was given", async (_, description) => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(update, { input: { description } })).toHaveProperty(
      "data.updateExperiment.experiment.id",
    );
    expect(service.seen().map(({ body }) => JSON.parse(body))).toEqual([{ description }]);
  });

  test.each(["updateExperiment", "updateJob", "updateBuildJob", "updateGroup"])(
    "%s without anything to change is BAD_USER_INPUT and sends nothing",
    async (name) => {
      const id = /id: "([^"]+)"/.exec(commandCalled(name).mutation)?.[1];
      const { data, errors, seen } = await refused(
        `mutation ($text: String) {
          nothing: ${name}(id: "${id}", input: {}) { __typename }
          omitted: ${name}(id: "${id}", input: { description: $text }) { __typename }
        }`,
      );
      expect(data).toEqual({ nothing: null, omitted: null });
      const message = "input: expected at least one field to change, got none";
      expect(outcomeOf({ data, errors }).errors).toEqual([
        failure("nothing", "BAD_USER_INPUT", message),
        failure("omitted", "BAD_USER_INPUT", message),
      ]);
      expect(seen).toEqual([]);
    },
  );

  test.each([
    ["a number", { description: 5 }],
    ["a list", { description: ["a"] }],
    ["another field", { description: "a", name: "b" }],
    ["no object", "Best"],
    ["null", null],
  ])("with %s is BAD_USER_INPUT and sends nothing", async (_, input) => {
    const { codes, seen } = await refused(update, { input });
    expect(codes).toEqual(["BAD_USER_INPUT"]);
    expect(seen).toEqual([]);
  });
});

describe("an id that does not name a record of the mutation's kind is BAD_USER_INPUT and sends nothing", () => {
  const aimed = commands.filter((command) => command.kind);
  const ids = {
    Experiment: globalId("Experiment:ada/mnist/3"),
    Job: globalId("Job:ada/mnist/5"),
    BuildJob: globalId("BuildJob:ada/mnist/7"),
    Group: globalId("Group:ada/mnist/2"),
    ExperimentJob: globalId("ExperimentJob:ada/mnist/3/1"),
    Project: globalId("Project:ada/mnist"),
    User: globalId("User:ada"),
  };

  test.each(aimed.map((command) => [command.name, command] as const))("%s", async (_, command) => {
    const otherKinds = Object.entries(ids).flatMap(([kind, id]) => (kind === command.kind ? [] : [id]));
    const wrong = [
      ...otherKinds,
      globalId(`${command.kind ?? ""}:ada/mnist/../3`),
      globalId(`${command.kind ?? ""}:ada/mnist/three`),
      globalId("MetricRecord:ada/mnist/3/9"),
      ...(["Experiment", "Group"].includes(`${command.kind}`)
        ? ["ada.mnist.jobs.5", "ada.mnist.builds.7"]
        : ["ada.mnist.3"]),
      "",
      "3",
      "ada.mnist",
      "ada..3",
      "ada.mnist.x",
      "../users.token.3",
      "ada.mnist.-3",
    ];
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    for (const id of wrong) {
      const mutation = command.mutation.replace(/id: "[^"]+"/, "id: $id");
      const answer = await ask(`mutation ($id: ID!) { done: ${mutation} { __typename } }`, { id });
      expect({ id, data: answer.data, codes: codesOf(answer) }).toEqual({
        id,
        data: { done: null },
        codes: ["BAD_USER_INPUT"],
      });
    }
    expect(service.seen()).toEqual([]);
  });
});

describe("a name of a user that could leave its path is BAD_USER_INPUT and sends nothing", () => {
  test.each(["activateUser", "deleteUser", "grantSuperuser", "revokeSuperuser"])("%s", async (name) => {
    const wrong = [
      "",
      ".",
      "..",
      "a/b",
      "../token",
      "a?b",
      "a#b",
      "a%2fb",
      "a b",
      "a\n",
      "\u202e",
      "x".repeat(201),
    ];
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    for (const username of wrong) {
      const answer = await ask(
        `mutation ($username: String!) { done: ${name}(username: $username) { __typename } }`,
        { username },
      );
      expect({ username, data: answer.data, codes: codesOf(answer) }).toEqual({
        username,
        data: { done: null },
        codes: ["BAD_USER_INPUT"],
      });
    }
    expect(service.seen()).toEqual([]);
  });
});

describe("a metric", () => {
  const record = `mutation ($values: [MetricValueInput!]!) {
    createExperimentMetric(id: "ada.mnist.3", input: { values: $values }) { metric { id } }
  }`;

  test.each([
    ["of no value", [], "input.values: expected at least one metric, got none"],
    [
      "with a name twice",
      [
        { name: "loss", value: 1 },
        { name: "epoch", value: 2 },
        { name: "loss", value: 1 },
      ],
      `input.values[2].name: expected each name once, got "loss" again`,
    ],
    ["without a name", [{ name: "", value: 1 }], `input.values[0].name: expected a name, got ""`],
    [
      "with a blank name",
      [
        { name: "loss", value: 1 },
        { name: " \t", value: 1 },
      ],
      `input.values[1].name: expected a name, got " \\t"`,
    ],
  ])("%s is BAD_USER_INPUT and sends nothing", async (_, values, message) => {
    const { data, errors, seen } = await refused(record, { values });
    expect(outcomeOf({ data, errors })).toEqual({
      data: { createExperimentMetric: null },
      errors: [failure("createExperimentMetric", "BAD_USER_INPUT", message)],
    });
    expect(seen).toEqual([]);
  });

  test.each([
    ["1e999 in the variables", record, `{"values": [{"name": "loss", "value": 1e999}]}`],
    ["-1e999 in the variables", record, `{"values": [{"name": "loss", "value": -1e999}]}`],
    [
      "1e999 in one variable",
      `mutation ($value: Float!) {
        createExperimentMetric(id: "ada.mnist.3", input: { values: [{ name: "loss", value: $value }] }) { metric { id } }
      }`,
      `{"value": 1e999}`,
    ],
    [
      "1e999 in the document",
      `mutation {
        createExperimentMetric(id: "ada.mnist.3", input: { values: [{ name: "loss", value: 1e999 }] }) { metric { id } }
      }`,
      "{}",
    ],
    [
      "-1e999 in the document",
      `mutation {
        createExperimentMetric(id: "ada.mnist.3", input: { values: [{ name: "loss", value: -1e999 }] }) { metric { id } }
      }`,
      "{}",
    ],
    ["text", record, `{"values": [{"name": "loss", "value": "NaN"}]}`],
    ["null", record, `{"values": [{"name": "loss", "value": null}]}`],
  ])(
    "whose value is no finite number is BAD_USER_INPUT and sends nothing: %s",
    async (_, query, variables) => {
      const { codes, seen } = await refused(query, variables);
      expect(codes).toEqual(["BAD_USER_INPUT"]);
      expect(seen).toEqual([]);
    },
  );

  test("may have any name and any finite number", async () => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    const named = [
      { name: "__proto__", value: 1 },
      { name: "constructor", value: 2 },
      { name: "val/loss @ 5", value: 1e308 },
      { name: "größe", value: -5e-324 },
      { name: "epoch", value: 9_007_199_254_740_991 },
    ];
    expect(await ask(record, { values: named })).toHaveProperty("data.createExperimentMetric.metric.id");
    expect(service.seen().map(({ body }) => Object.entries(JSON.parse(body).values))).toEqual([
      named.map(({ name, value }) => [name, value]),
    ]);
  });
});

describe("the fields of one request", () => {
  test("run one after the other, each with reads of its own", async () => {
    let commandsSoFar = 0;
    let atOnce = 0;
    const most: number[] = [];
    const service = await startFake(async ({ method }) => {
      if (method !== "GET") commandsSoFar++;
      most.push(++atOnce);
      await setImmediate();
      atOnce--;
      return { json: { id: 3, description: `after ${commandsSoFar}`, last_status: "running" } };
    });
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`mutation {
      a: stopExperiment(id: "ada.mnist.3") { experiment { description } }
      b: bookmarkExperiment(id: "ada.mnist.3") { experiment { description } }
      c: unbookmarkExperiment(id: "ada.mnist.3") { experiment { id } }
      d: restartExperiment(id: "ada.mnist.3") { source { description } }
      e: stopExperiment(id: "ada.mnist.3") { experiment { description } }
    }`);
    expect(answer).toEqual({
      data: {
        a: { experiment: { description: "after 1" } },
        b: { experiment: { description: "after 2" } },
        c: { experiment: { id: globalId("Experiment:ada/mnist/3") } },
        d: { source: { description: "after 4" } },
        e: { experiment: { description: "after 5" } },
      },
    });
    const [read, act] = ["GET ada/mnist/experiments/3/", "ada/mnist/experiments/3"];
    expect(service.inOrder()).toEqual([
      `POST ${act}/stop`,
      read,
      `POST ${act}/bookmark/`,
      read,
      `DELETE ${act}/unbookmark/`,
      `POST ${act}/restart/`,
      read,
      `POST ${act}/stop`,
      read,
    ]);
    expect(Math.max(...most)).toBe(1);
  });

  test("are not disturbed by one that is refused", async () => {
    const service = await startFake(({ method, path }) => {
      if (path.endsWith("/stop")) return detail(409, "Already stopped.");
      return method === "GET" ? { json: { id: 3, bookmarked: true } } : { text: "" };
    });
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`mutation {
      before: bookmarkExperiment(id: "ada.mnist.3") { experiment { bookmarked } }
      refused: stopExperiment(id: "ada.mnist.3") { experiment { bookmarked } }
      wrong: stopExperiment(id: "nonsense") { experiment { bookmarked } }
      after: bookmarkExperiment(id: "ada.mnist.3") { experiment { bookmarked } }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: {
        before: { experiment: { bookmarked: true } },
        refused: null,
        wrong: null,
        after: { experiment: { bookmarked: true } },
      },
      errors: [
        failure("refused", "CONFLICT", "Already stopped.", {
          upstream: { method: "POST", route: "{owner}/{project}/experiments/{id}/stop", status: 409 },
        }),
        failure("wrong", "BAD_USER_INPUT", `id: expected a global id, got "nonsense"`),
      ],
    });
    const [mark, read] = ["POST ada/mnist/experiments/3/bookmark/", "GET ada/mnist/experiments/3/"];
    expect(service.inOrder()).toEqual([mark, read, "POST ada/mnist/experiments/3/stop", mark, read]);
  });

  test("read anew also after a command that failed: it may have happened", async () => {
    let reads = 0;
    const service = await startFake(({ method, path }) => {
      if (path.endsWith("/stop")) return html(502);
      return method === "GET" ? { json: { id: 3, description: `read ${++reads}` } } : { text: "" };
    });
    const { ask } = await startGateway({ upstream: service });
    const { data } = await ask(`mutation {
      a: bookmarkExperiment(id: "ada.mnist.3") { experiment { description } }
      b: stopExperiment(id: "ada.mnist.3") { experiment { description } }
      c: bookmarkExperiment(id: "ada.mnist.3") { experiment { description } }
    }`);
    expect(data).toEqual({
      a: { experiment: { description: "read 1" } },
      b: null,
      c: { experiment: { description: "read 2" } },
    });
  });
});

test("without a caller's token every mutation but login is UNAUTHENTICATED and sends nothing", async () => {
  const service = await startWilling();
  const { ask } = await startGateway({ upstream: service, token: null });
  for (const command of commands) {
    const answer = await ask(`mutation { done: ${command.mutation} { __typename } }`);
    const expected =
      command.name === "login"
        ? { data: { done: { __typename: "LoginPayload" } }, codes: [] }
        : { data: { done: null }, codes: ["UNAUTHENTICATED"] };
    expect({ data: answer.data, codes: codesOf(answer) }).toEqual(expected);
  }
  expect(service.inOrder()).toEqual(["POST users/token/"]);
});

/** A command of each method, with and without a body, with and without a documented answer, and login. */
const oneOfEach = [
  "stopExperiment",
  "bookmarkJob",
  "deleteGroup",
  "unbookmarkBuildJob",
  "updateJob",
  "createExperimentMetric",
  "copyExperiment",
  "revokeSuperuser",
  "login",
].map(commandCalled);
/** Those of them whose answer is read. */
const answering = oneOfEach.filter((command) => !silentCommands.includes(command));

const UNKNOWN_OUTCOME = { outcome: "unknown" };
const RETRYING = { UPSTREAM_RETRIES: "2" };

/** So many failures that no gateway takes the service for dead. */
const FEW = 12;

/** Sends each command in a request of its own, all at once; gives the answers in the order of the commands. */
async function sendEach(url: string, these: readonly Command[], env: Record<string, string> = {}) {
  const starting = Array.from({ length: Math.ceil(these.length / FEW) }, () =>
    startGateway({ upstream: { url }, env: { ...RETRYING, ...env } }),
  );
  const gateways = await Promise.all(starting);
  return Promise.all(
    these.map(async ({ mutation }, index) => {
      const { ask } = gateways[Math.floor(index / FEW)] ?? {};
      return ask && outcomeOf(await ask(`mutation { done: ${mutation} { __typename } }`));
    }),
  );
}

/** What `sendEach` gives when each command fails alike. */
const allFail = (
  these: readonly Command[],
  code: string,
  message: string,
  { status, ...facts }: { status?: number; outcome?: string; retryAfterSeconds?: number } = {},
) =>
  these.map((command) => ({
    data: { done: null },
    errors: [
      failure("done", code, message, {
        upstream: {
          method: command.method,
          route: routeOf(command),
          ...(status === undefined ? {} : { status }),
        },
        ...facts,
      }),
    ],
  }));

const sortedCalls = (these: readonly Command[]) =>
  these.map((command) => callOf(command)).toSorted();

const OUT_OF_REACH = "The service is out of reach.";
const NOT_IN_TIME = "The service did not answer in time.";

describe("a command is never sent twice", () => {
  test.each([
    [500, "UPSTREAM_ERROR", "The service answered 500.", UNKNOWN_OUTCOME],
    [502, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME],
    [503, "UPSTREAM_UNAVAILABLE", "The service is not ready.", {}],
    [504, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME],
    [507, "UPSTREAM_ERROR", "The service answered 507.", UNKNOWN_OUTCOME],
    [418, "UPSTREAM_ERROR", "The service answered 418.", {}],
    [429, "RATE_LIMITED", "The service allows no more requests for now.", {}],
  ])("when the service answers %i", async (status, code, message, facts) => {
    const service = await startFake(() => html(status));
    expect(await sendEach(service.url, oneOfEach)).toEqual(allFail(oneOfEach, code, message, { status, ...facts }));
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test.each([
    [429, "0", "RATE_LIMITED", "The service allows no more requests for now."],
    [429, "1", "RATE_LIMITED", "The service allows no more requests for now."],
    [503, "0", "UPSTREAM_UNAVAILABLE", "The service is not ready."],
    [503, "7", "UPSTREAM_UNAVAILABLE", "The service is not ready."],
  ])("when it answers %i and asks for %s seconds of patience", async (status, seconds, code, message) => {
    const service = await startFake(() => ({ status, text: "", headers: { "retry-after": seconds } }));
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, code, message, { status, retryAfterSeconds: Number(seconds) }),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  /** A service that does something else than answer to each request, once all of it has arrived. */
  async function startFailing(fail: (response: ServerResponse) => void) {
    const calls: string[] = [];
    const url = await listen(async (request, response) => {
      for await (const _ of request);
      calls.push(onWire({ method: request.method ?? "", path: request.url ?? "" }));
      fail(response);
    });
    return { url, calls: () => calls.toSorted() };
  }

  test("when the connection ends without an answer", async () => {
    const service = await startFailing((response) => response.destroy());
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test("when the connection is reset instead of an answer", async () => {
    const service = await startFailing((response) => response.socket?.resetAndDestroy());
    expect(await sendEach(service.url, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(oneOfEach));
  });

  test("when the connection is reset in the middle of an answer that is read", async () => {
    const service = await startFailing((response) => {
      response.writeHead(201, { "content-type": "application/json", "content-length": 5_000 });
      response.write(`{"id": `, () => response.destroy());
    });
    expect(await sendEach(service.url, answering)).toEqual(
      allFail(answering, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(answering));
  });

  test("when the connection is closed as soon as it is open", async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.on("error", () => {}).destroy();
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await sendEach(`http://127.0.0.1:${port}`, oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(connections).toBe(oneOfEach.length);
  });

  test.each([
    ["to begin", "UPSTREAM_HEADERS_TIMEOUT_MS"],
    ["altogether", "UPSTREAM_TIMEOUT_MS"],
    ["for the whole request", "REQUEST_TIMEOUT_MS"],
  ])("when the answer takes longer than it may %s", async (_, setting) => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing(() => {});
      expect(await sendEach(service.url, oneOfEach, { [setting]: `${deadlineMs}` })).toEqual(
        allFail(oneOfEach, "UPSTREAM_TIMEOUT", NOT_IN_TIME, UNKNOWN_OUTCOME),
      );
      expect(service.calls()).toEqual(sortedCalls(oneOfEach));
    });
  });

  test("when an answer that is read begins and does not end in time", async () => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing((response) => void response.write(`{"id": `));
      expect(await sendEach(service.url, answering, { UPSTREAM_TIMEOUT_MS: `${deadlineMs}` })).toEqual(
        allFail(answering, "UPSTREAM_TIMEOUT", NOT_IN_TIME, UNKNOWN_OUTCOME),
      );
      expect(service.calls()).toEqual(sortedCalls(answering));
    });
  });
});

describe("an answer of success that cannot be read may come of a command that was done", () => {
  const noJson = "The service's answer is no JSON.";
  test.each([
    ["nothing", { status: 201, text: "" }, noJson, 201],
    ["a page", html(200), noJson, 200],
    ["a list", { json: [] }, "Expected a JSON object from the service, got something else.", 200],
    [
      "more than is read",
      { json: { id: 1, token: "x".repeat(2_000) } },
      "The service's answer is longer than 1000 bytes.",
      undefined,
    ],
    [
      "what says gzip and is none",
      { text: "Sorry", headers: { "content-encoding": "gzip" } },
      "The service's answer cannot be decoded.",
      undefined,
    ],
  ] satisfies [string, Told, string, number | undefined][])("%s", async (_, told, message, status) => {
    const service = await startFake(() => told);
    expect(await sendEach(service.url, answering, { MAX_JSON_BYTES: "1000" })).toEqual(
      allFail(answering, "UPSTREAM_BAD_RESPONSE", message, {
        ...(status === undefined ? {} : { status }),
        ...UNKNOWN_OUTCOME,
      }),
    );
    expect(service.calls()).toEqual(sortedCalls(answering));
  });
});

describe("a command that cannot have happened is not said to be of unknown outcome", () => {
  test("when nobody listens", async () => {
    expect(await sendEach("http://127.0.0.1:1", oneOfEach)).toEqual(
      allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH),
    );
  });

  test("when no secure connection comes about", async () => {
    const service = await startWilling();
    const answers = await sendEach(service.url.replace("http:", "https:"), oneOfEach);
    expect(answers).toEqual(allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH));
    expect(service.seen()).toEqual([]);
  });

  const forbidden = "You do not have permission to perform this action.";
  test.each([
    [400, { description: ["Not a valid string."] }, "BAD_USER_INPUT", "description: Not a valid string."],
    [401, { detail: "Invalid token." }, "UNAUTHENTICATED", "Invalid token."],
    [403, { detail: forbidden }, "FORBIDDEN", forbidden],
    [404, { detail: "Not found." }, "NOT_FOUND", "Not found."],
    [409, { detail: "Already stopped." }, "CONFLICT", "Already stopped."],
    [422, { values: ["Too many."] }, "BAD_USER_INPUT", "values: Too many."],
  ])("when the service refuses it with %i", async (status, json, code, message) => {
    const signedIn = oneOfEach.filter((command) => command.name !== "login");
    const service = await startFake(() => ({ status, json }));
    expect(await sendEach(service.url, signedIn)).toEqual(allFail(signedIn, code, message, { status }));
    expect(service.calls()).toEqual(sortedCalls(signedIn));
  });

  test("when the operation may cause no further request", async () => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "1" } });
    const answer = await ask(`mutation {
      a: stopExperiment(id: "ada.mnist.3") { __typename }
      b: stopExperiment(id: "ada.mnist.4") { __typename }
    }`);
    expect(outcomeOf(answer)).toEqual({
      data: { a: { __typename: "StopExperimentPayload" }, b: null },
      errors: [
        failure("b", "REQUEST_LIMIT_EXCEEDED", expect.stringContaining("more than 1 requests"), {
          unsentRequests: 1,
        }),
      ],
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/stop"]);
  });

  test("when the time of the request is over before its turn comes", async () => {
    await withDeadline(async (deadlineMs) => {
      const calls: string[] = [];
      const url = await listen(
        ({ method = "", url: path = "" }) => void calls.push(onWire({ method, path })),
      );
      const { ask } = await startGateway({
        upstream: { url },
        env: { ...RETRYING, REQUEST_TIMEOUT_MS: `${deadlineMs}` },
      });
      const answer = await ask(`mutation {
      hanging: stopExperiment(id: "ada.mnist.3") { __typename }
      waiting: stopExperiment(id: "ada.mnist.4") { __typename }
    }`);
      const upstream = { method: "POST", route: "{owner}/{project}/experiments/{id}/stop" };
      expect(calls).toEqual(["POST ada/mnist/experiments/3/stop"]);
      expect(outcomeOf(answer)).toEqual({
        data: { hanging: null, waiting: null },
        errors: [
          failure("hanging", "UPSTREAM_TIMEOUT", NOT_IN_TIME, { upstream, ...UNKNOWN_OUTCOME }),
          failure(
            "waiting",
            "UPSTREAM_TIMEOUT",
            "The request's time was over before the service could be asked.",
            { upstream },
          ),
        ],
      });
    });
  });
});

test("when the caller leaves during a command, those behind it are not sent", async () => {
  const calls: string[] = [];
  let arrived = (): void => {};
  const hasArrived = new Promise<void>((resolve) => (arrived = resolve));
  const url = await listen(({ method = "", url: path = "" }, response) => {
    calls.push(onWire({ method, path }));
    if (path.includes("/9/")) response.end();
    else arrived();
  });
  const gateway = await startGateway({ upstream: { url }, env: RETRYING });
  const leaving = new AbortController();
  const asked = fetch(`${gateway.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken" },
    body: JSON.stringify({
      query: `mutation {
        a: stopExperiment(id: "ada.mnist.3") { __typename }
        b: stopExperiment(id: "ada.mnist.4") { __typename }
      }`,
    }),
    signal: leaving.signal,
  });
  await hasArrived;
  leaving.abort();
  await expect(asked).rejects.toThrow("aborted");
  expect(await gateway.ask(`mutation { stopExperiment(id: "ada.mnist.9") { __typename } }`)).toEqual({
    data: { stopExperiment: { __typename: "StopExperimentPayload" } },
  });
  expect(calls).toEqual(["POST ada/mnist/experiments/3/stop", "POST ada/mnist/experiments/9/stop"]);
});

describe("login", () => {
  const login = `mutation ($username: String!, $password: String!) {
    login(input: { username: $username, password: $password }) {
      token
      user { id username email isSuperuser isViewer }
    }
  }`;
  const ada = { username: "ada", password: "ada-demo" };

  /** A service that signs in whoever asks, and knows people by their tokens. */
  const startDoor = () =>
    startFake(({ path, headers }) => {
      if (path.endsWith("users/token/")) return { json: { token: "n3w" } };
      if (!path.endsWith("users/"))
        return { json: { id: 3, description: `for ${headers["authorization"]}` } };
      const username = headers["authorization"] === "token n3w" ? "ada" : "grace";
      return { json: { username, email: `${username}@example.com`, is_superuser: username === "ada" } };
    });

  /** The requests with the token of each. */
  const signed = (service: { seen: () => readonly Seen[] }) =>
    service.seen().map((seen) => [onWire(seen), seen.headers["authorization"]]);

  test.each([
    ["nobody", null],
    ["somebody else", "t0ken"],
  ])(
    "asked for by %s sends no Authorization header, and reads the user with the new token",
    async (_, token) => {
      const service = await startDoor();
      const { ask } = await startGateway({ upstream: service, token });
      expect(await ask(login, ada)).toEqual({
        data: {
          login: {
            token: "n3w",
            user: {
              id: globalId("User:ada"),
              username: "ada",
              email: "ada@example.com",
              isSuperuser: true,
              isViewer: true,
            },
          },
        },
      });
      expect(signed(service)).toEqual([
        ["POST users/token/", undefined],
        ["GET users/", "token n3w"],
      ]);
      expect(service.seen().map(({ body }) => body && JSON.parse(body))).toEqual([ada, ""]);
    },
  );

  test("is not hindered by an Authorization header that nobody understands", async () => {
    const service = await startDoor();
    const { ask } = await startGateway({ upstream: service, token: null });
    const headers = { authorization: "Basic YWRhOmFkYQ==" };
    expect(
      await ask(`mutation { login(input: { username: "ada", password: "x" }) { token } }`, {}, { headers }),
    ).toEqual({ data: { login: { token: "n3w" } } });
    expect(signed(service)).toEqual([["POST users/token/", undefined]]);
  });

  test("leaves the other fields of the request their caller", async () => {
    const service = await startDoor();
    const { ask } = await startGateway({ upstream: service, token: "t0ken" });
    const answer = await ask(
      `mutation {
        before: grantSuperuser(username: "grace") { user { isSuperuser isViewer } }
        login(input: { username: "ada", password: "ada-demo" }) { user { username isSuperuser } }
        after: grantSuperuser(username: "grace") { user { isSuperuser isViewer } }
        run: stopExperiment(id: "ada.mnist.3") { experiment { description } }
      }`,
    );
    const grace = { user: { isSuperuser: false, isViewer: true } };
    expect(answer).toEqual({
      data: {
        before: grace,
        login: { user: { username: "ada", isSuperuser: true } },
        after: grace,
        run: { experiment: { description: "for token t0ken" } },
      },
    });
    expect(signed(service)).toEqual([
      ["POST superusers/grant/grace/", "token t0ken"],
      ["GET users/", "token t0ken"],
      ["POST users/token/", undefined],
      ["GET users/", "token n3w"],
      ["POST superusers/grant/grace/", "token t0ken"],
      ["GET users/", "token t0ken"],
      ["POST ada/mnist/experiments/3/stop", "token t0ken"],
      ["GET ada/mnist/experiments/3/", "token t0ken"],
    ]);
  });

  test("does not sign in the other fields of a caller without a token", async () => {
    const service = await startDoor();
    const { ask } = await startGateway({ upstream: service, token: null });
    const { data, errors } = await ask<unknown, UNKNOWN_OUTCOME>(`mutation {
      login(input: { username: "ada", password: "ada-demo" }) { token }
      stopExperiment(id: "ada.mnist.3") { experiment { id } }
    }`);
    expect(data).toEqual({ login: { token: "n3w" }, stopExperiment: null });
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["UNAUTHENTICATED"]);
    expect(service.inOrder()).toEqual(["POST users/token/"]);
  });

  const upstream = { method: "POST", route: "users/token/" };
  const bad = (status: number, message: string) => ({
    data: { login: null },
    errors: [failure("login", "BAD_CREDENTIALS", message, { upstream: { ...upstream, status } })],
  });

  const words: Readonly<Record<string, string>> = {
    "auth login bad password": "Unable to log in with provided credentials.",
    "auth login unknown user": "Unable to log in with provided credentials.",
    "auth login inactive user": "Unable to log in with provided credentials.",
    "auth login blank fields":
      "username: This field may not be blank. password: This field may not be blank.",
  };
  const recorded = readRecording("0.2.0-reads").filter((line) => line.case in words);

  test.each(recorded.map((line) => [line.case, line] as const))(
    "that a real server refused is BAD_CREDENTIALS in its words: %s",
    async (name, line) => {
      const service = await startFake(() => ({ status: line.status, json: line.json }));
      const { ask } = await startGateway({ upstream: service, token: null });
      // These four were recorded with a username and a password.
      const { body } = line as unknown as { readonly body: string };
      const answer = await ask(login, JSON.parse(body));
      expect(outcomeOf(answer)).toEqual(bad(400, words[name] ?? ""));
      expect(service.seen().map((seen) => JSON.parse(seen.body))).toEqual([JSON.parse(body)]);
    },
  );

  test("there are four such recordings", () => {
    expect(recorded.map((line) => line.case).toSorted()).toEqual(Object.keys(words).toSorted());
  });

  test.each([
    [400, html(400), "The service refused the username and password."],
    [401, detail(401, "No such user."), "No such user."],
    [403, detail(403, "User inactive or deleted."), "User inactive or deleted."],
    [403, { status: 403, text: "" }, "The service refused the username and password."],
    [
      400,
      { status: 400, json: { password: ["This field is required."] } } satisfies Told,
      "password: This field is required.",
    ],
  ] satisfies [number, Told, string][])(
    "that any server refuses with %i is BAD_CREDENTIALS, for signed-in callers as well",
    async (status, told, message) => {
      const service = await startFake(() => told);
      const { ask } = await startGateway({ upstream: service, token: "t0ken" });
      expect(outcomeOf(await ask(login, ada))).toEqual(bad(status, message));
      expect(service.inOrder()).toEqual(["POST users/token/"]);
    },
  );

  test("whose user cannot be read still gives the token", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? detail(403, "User inactive or deleted.") : { json: { token: "n3w" } },
    );
    const { ask } = await startGateway({ upstream: service, token: null });
    expect(outcomeOf(await ask(login, ada))).toEqual({
      data: { login: { token: "n3w", user: null } },
      errors: [
        failure("login.user", "UNAUTHENTICATED", "User inactive or deleted.", {
          upstream: { method: "GET", route: "users/", status: 403 },
        }),
      ],
    });
  });

  test("whose token signs nobody in says so at the user", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? { json: { username: "", is_superuser: false } } : { json: { token: "n3w" } },
    );
    const { ask } = await startGateway({ upstream: service, token: null });
    expect(outcomeOf(await ask(login, ada))).toEqual({
      data: { login: { token: "n3w", user: null } },
      errors: [failure("login.user", "UNAUTHENTICATED", "The service says that nobody is signed in.")],
    });
  });

  test.each([
    ["no token", {}],
    ["an empty one", { token: "" }],
    ["null", { token: null }],
    ["a number", { token: 7 }],
  ])("answered with %s is UPSTREAM_BAD_RESPONSE", async (_, json) => {
    const service = await startFake(() => ({ json }));
    const { ask } = await startGateway({ upstream: service, token: null });
    const { data, errors } = outcomeOf(await ask(login, ada));
    expect(data).toEqual({ login: null });
    expect(errors).toEqual([expect.objectContaining({ at: "login", code: "UPSTREAM_BAD_RESPONSE" })]);
  });
});

describe("the administration of users", () => {
  const administration = commands.filter(({ kind, name }) => kind === null && name !== "login");

  test("takes the superuser role away as the document says, with DELETE", async () => {
    const service = await startFake(() => ({ text: "" }));
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(`mutation { revokeSuperuser(username: "grace") { user { username } } }`)).toEqual({
      data: { revokeSuperuser: { user: { username: "grace" } } },
    });
    expect(service.inOrder()).toEqual(["DELETE superusers/revoke/grace/"]);
  });

  test.each([
    ["405 with JSON", detail(405, `Method "DELETE" not allowed.`), 405],
    ["405 with an empty page", html(405, ""), 405],
    ["404 with a page", html(404), 404],
  ] satisfies [string, Told, number][])(
    "is UPSTREAM_UNSUPPORTED where the server answers %s, and the row is named",
    async (_, told, status) => {
      const service = await startFake(() => told);
      const expected = administration.map((command) => {
        const [method, route] = [command.method, routeOf(command)];
        const message = `This server does not offer ${method} ${route}, or failed at it.`;
        return allFail([command], "UPSTREAM_UNSUPPORTED", message, { status })[0];
      });
      expect(await sendEach(service.url, administration)).toEqual(expected);
      expect(service.calls()).toEqual(sortedCalls(administration));
    },
  );

  test("is NOT_FOUND where the user is not there, and FORBIDDEN to those who may not", async () => {
    const missing = await startFake(() => detail(404, "Not found."));
    expect(await sendEach(missing.url, administration)).toEqual(
      allFail(administration, "NOT_FOUND", "Not found.", { status: 404 }),
    );
    const message = "You do not have permission to perform this action.";
    const closed = await startFake(() => detail(403, message));
    expect(await sendEach(closed.url, administration)).toEqual(
      allFail(administration, "FORBIDDEN", message, { status: 403 }),
    );
  });

  test("of the demo: three commands, and one look at who the caller is", async () => {
    const { ask, demo } = await startDemoGateway();
    const answer = await ask(AdministrationDocument, {
      newcomer: "margaret",
      admin: "grace",
      leaver: "linus",
    });
    const of = (username: string) => globalId(`User:${username}`);
    expect(answer).toEqual({
      data: {
        activateUser: { user: { id: of("margaret"), username: "margaret" } },
        grantSuperuser: { user: { id: of("grace"), username: "grace", isSuperuser: null } },
        deleteUser: { deletedId: of("linus"), deletedUsername: "linus" },
      },
    });
    expect(demo.calls()).toEqual([
      "POST /api/v1/users/activate/margaret/",
      "POST /api/v1/superusers/grant/grace/",
      "GET /api/v1/users/",
      "DELETE /api/v1/users/delete/linus/",
    ]);
  });
});
