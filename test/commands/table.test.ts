import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { startAccepting } from "../support/any-command.ts";
import { everyNth } from "../support/cases.ts";
import { callOf, type Command, commandCalled, commands, idOf, routeOf } from "../support/commands.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { onWire, startFake, type FakeResponse } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { withDeadline } from "../support/long-timeout.ts";
import { detail, html, json } from "../support/replies.ts";

/* Each writing row of the service's document: success, rejection, broken connection, timeout, wrong id, no token. */

/** The type of a command's payload, which follows from the kind of the record. */
function payloadOf({ name, kind }: Command): string {
  const own = `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`;
  if (name.startsWith("delete")) return "DeletePayload";
  if (["login", "activateUser", "createExperimentMetrics", `stop${kind}`].includes(name)) return own;
  return `${kind ?? "User"}Payload`;
}

describe("every writing endpoint of the service's document has a mutation:", () => {
  test.each(commands)("$row is $name", async (command) => {
    const { mutation, name, path, body } = command;
    const byId = mutation.replace(/id: "[^"]+"/, `id: "${idOf(command)}"`);
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service, token: "t0ken" });
    const data = { done: { __typename: payloadOf(command) } };
    for (const spelled of [mutation, byId])
      expect(await ask(`mutation { done: ${spelled} { __typename } }`)).toEqual({ data });
    const seen = service
      .seen()
      .map(({ method, path: asked, headers, body: sent }) => [
        `${method} ${asked}`,
        headers["authorization"],
        headers["content-type"],
        sent === "" ? undefined : JSON.parse(sent),
      ]);
    const authorization = name === "login" ? undefined : "token t0ken";
    const type = body && "application/json";
    const expected = [`${command.method} /api/v1/${path}`, authorization, type, body];
    expect(seen).toEqual([expected, expected]);
  });
});

describe("an id of another kind returns BAD_USER_INPUT, and nothing is sent:", () => {
  const aimed = commands.filter((command) => command.kind);
  const kinds = ["Experiment", "Job", "BuildJob", "Group", "Project"];
  const others = ["ExperimentJob:ada/mnist/3/1", "MetricRecord:ada/mnist/3/9", "User:ada"];

  test.each(aimed.map((command, offset) => ({ ...command, offset })))(
    "$name",
    async ({ offset, ...command }) => {
      const otherKinds = kinds.filter((kind) => kind !== command.kind).map((kind) => `${kind}:ada/mnist/3`);
      const outside = ["../3", "three"].map((number) => `${command.kind}:ada/mnist/${number}`);
      const isByNumber = ["Experiment", "Group"].includes(`${command.kind}`);
      const wrong = [
        ...[...otherKinds, ...others, ...outside].map((address) => globalId(address)),
        ...(isByNumber ? ["ada.mnist.jobs.5", "ada.mnist.builds.7"] : ["ada.mnist.3"]),
        ...",3,ada.mnist,ada..3,ada.mnist.x,../users.token.3,ada.mnist.-3".split(","),
      ];
      const service = await startAccepting();
      const { ask } = await startGateway({ upstream: service });
      for (const id of everyNth(wrong, 5, offset)) {
        const mutation = command.mutation.replace(/id: "[^"]+"/, "id: $id");
        const answer = await ask(`mutation ($id: ID!) { done: ${mutation} { __typename } }`, { id });
        expect([id, answer.data, codesOf(answer)]).toEqual([id, { done: null }, ["BAD_USER_INPUT"]]);
      }
      expect(service.seen()).toEqual([]);
    },
  );
});

test.each(commands.filter(({ kind, name }) => kind === null && name !== "login").map(({ name }) => name))(
  "%s with an invalid name returns BAD_USER_INPUT and sends nothing",
  async (name) => {
    const wrong = ["", ".", "..", "a/b", "../token", "a?b", "a#b", "a%2fb", "a b", "a\n", "x".repeat(201)];
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service });
    const query = `mutation ($username: String!) { done: ${name}(username: $username) { __typename } }`;
    for (const username of wrong)
      expect([username, codesOf(await ask(query, { username }))]).toEqual([username, ["BAD_USER_INPUT"]]);
    expect(service.seen()).toEqual([]);
  },
);

test("without a token, every mutation except login returns UNAUTHENTICATED and sends nothing", async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service, token: null });
  for (const { name, mutation } of commands) {
    const codes = codesOf(await ask(`mutation { done: ${mutation} { __typename } }`));
    expect([name, codes]).toEqual([name, name === "login" ? [] : ["UNAUTHENTICATED"]]);
  }
  expect(service.inOrder()).toEqual(["POST users/token/"]);
});

/** One command for each method, with and without a body, with and without a documented response, and login. */
const oneOfEach =
  "stopExperiment startGroupTensorboard deleteGroup stopJob updateJob copyExperiment revokeSuperuser login"
    .split(" ")
    .map(commandCalled);

/** The commands whose response is read. */
const answering = oneOfEach.filter(({ isSilent }) => !isSilent);

const UNKNOWN = { outcome: "unknown" };
const RETRYING = { UPSTREAM_RETRIES: "2" };

/** Sends each command in a separate request, all concurrently. These requests are too few to open the circuit. */
async function sendEach(url: string, these: readonly Command[], env: Record<string, string> = {}) {
  const { ask } = await startGateway({ upstream: { url }, env: { ...RETRYING, ...env } });
  return Promise.all(
    these.map(async ({ mutation }) => outcomeOf(await ask(`mutation { done: ${mutation} { __typename } }`))),
  );
}

/** The result of `sendEach` if all commands fail in the same way. */
const allFail = (
  these: readonly Command[],
  [code, message]: readonly [code: string, message: string],
  { status, ...details }: { status?: number; outcome?: string } = {},
) =>
  these.map((command) => {
    const upstream = { method: command.method, route: routeOf(command), ...(status && { status }) };
    return { data: { done: null }, errors: [failure("done", code, message, { upstream, ...details })] };
  });

const callsOf = (these: readonly Command[]) => these.map((command) => callOf(command)).toSorted();

const OUT_OF_REACH = ["UPSTREAM_UNAVAILABLE", "The service cannot be reached."] as const;
const NOT_IN_TIME = ["UPSTREAM_TIMEOUT", "The service did not respond in time."] as const;
const REDIRECTED = [
  "UPSTREAM_BAD_RESPONSE",
  "The service sent a redirect, which the gateway does not follow.",
] as const;
const NO_JSON = ["UPSTREAM_BAD_RESPONSE", "The service's response is not JSON."] as const;
const TOO_LONG = ["UPSTREAM_BAD_RESPONSE", "The service's answer is longer than 1000 bytes."] as const;

const redirect = (status: number): FakeResponse => ({
  status,
  text: "",
  headers: { location: "/elsewhere" },
});

type Row = [reported: FakeResponse, expected: readonly [code: string, message: string], details: object];

test.each<Row>([
  [detail(409, "Already stopped."), ["CONFLICT", "Already stopped."], {}],
  [redirect(301), REDIRECTED, {}],
  [redirect(302), REDIRECTED, UNKNOWN],
  [html(500), ["UPSTREAM_ERROR", "The service answered 500."], UNKNOWN],
  [{ status: 201, text: "" }, NO_JSON, UNKNOWN],
  [json(200, { id: 1, token: "x".repeat(2_000) }), TOO_LONG, UNKNOWN],
])("a command answered with %j returns %j %j", async (reported, expected, details) => {
  const { status = 200 } = reported;
  const these = status < 300 ? answering : oneOfEach;
  const service = await startFake(() => reported);
  const answers = await sendEach(service.url, these, { MAX_JSON_BYTES: "1000" });
  expect(answers).toEqual(allFail(these, expected, { ...(expected !== TOO_LONG && { status }), ...details }));
  expect(service.calls()).toEqual(callsOf(these));
});

/** Starts a service that calls `fail` instead of sending a response, after it has received the whole request. */
async function startFailing(fail: (response: ServerResponse) => unknown) {
  const calls: string[] = [];
  const url = await listen(async (request, response) => {
    for await (const _ of request);
    calls.push(onWire({ method: request.method ?? "", path: request.url ?? "" }));
    fail(response);
  });
  return { url, calls: () => calls.toSorted() };
}

describe("a command is sent once and has an unknown outcome when", () => {
  const breakInTheMiddle = (response: ServerResponse) => {
    response.writeHead(201, { "content-type": "application/json", "content-length": 5_000 });
    response.write(`{"id": `, () => response.destroy());
  };

  test.each<[string, typeof oneOfEach, (response: ServerResponse) => unknown]>([
    ["the connection ends without a response", oneOfEach, (response) => response.destroy()],
    ["the connection is reset", oneOfEach, (response) => response.socket?.resetAndDestroy()],
    ["the connection breaks in the middle of a response that is read", answering, breakInTheMiddle],
  ])("%s", async (_, these, fail) => {
    const service = await startFailing(fail);
    expect(await sendEach(service.url, these)).toEqual(allFail(these, OUT_OF_REACH, UNKNOWN));
    expect(service.calls()).toEqual(callsOf(these));
  });

  test.each([
    ["its response takes too long to begin", oneOfEach, "UPSTREAM_HEADERS_TIMEOUT_MS", ""],
    ["its response takes too long", oneOfEach, "UPSTREAM_TIMEOUT_MS", ""],
    ["a response that is read does not end in time", answering, "UPSTREAM_TIMEOUT_MS", `{"id": `],
    ["the deadline of the request has passed", oneOfEach, "REQUEST_TIMEOUT_MS", ""],
  ])("%s", async (_, these, setting, begun) => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing((response) => begun && response.write(begun));
      expect(await sendEach(service.url, these, { [setting]: `${deadlineMs}` })).toEqual(
        allFail(these, NOT_IN_TIME, UNKNOWN),
      );
      expect(service.calls()).toEqual(callsOf(these));
    });
  });
});

describe("a command is not sent when", () => {
  test.each([
    ["nobody listens", async () => "http://127.0.0.1:1"],
    [
      "no secure connection is established",
      async () => (await startAccepting()).url.replace("http:", "https:"),
    ],
  ])("%s", async (_, start) => {
    expect(await sendEach(await start(), oneOfEach)).toEqual(allFail(oneOfEach, OUT_OF_REACH));
  });

  const two = `mutation {
    first: stopExperiment(id: "ada.mnist.3", force: true) { __typename }
    second: stopExperiment(id: "ada.mnist.4", force: true) { __typename }
  }`;

  test("the operation has no upstream requests left", async () => {
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "1" } });
    const message = "This operation needs more than 1 requests to the service; request less at once.";
    expect(outcomeOf(await ask(two))).toMatchObject({
      data: { first: { __typename: "StopExperimentPayload" }, second: null },
      errors: [{ at: "second", code: "REQUEST_LIMIT_EXCEEDED", message, unsentRequests: 1 }],
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/stop"]);
  });

  test("the request times out in the queue", async () => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing(() => {});
      const env = { ...RETRYING, REQUEST_TIMEOUT_MS: `${deadlineMs}` };
      const { ask } = await startGateway({ upstream: service, env });
      const upstream = { method: "POST", route: "{owner}/{project}/experiments/{id}/stop" };
      const never = "The deadline passed before the request could be sent to the service.";
      expect(outcomeOf(await ask(two))).toEqual({
        data: { first: null, second: null },
        errors: [
          failure("first", ...NOT_IN_TIME, { upstream, ...UNKNOWN }),
          failure("second", "UPSTREAM_TIMEOUT", never, { upstream }),
        ],
      });
      expect(service.calls()).toEqual(["POST ada/mnist/experiments/3/stop"]);
    });
  });
});
