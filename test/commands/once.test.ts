import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import {
  allFail,
  answering,
  NOT_IN_TIME,
  oneOfEach,
  OUT_OF_REACH,
  RETRYING,
  sendEach,
  sortedCalls,
  UNKNOWN_OUTCOME,
} from "../support/failing-commands.ts";
import { onWire, startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { withDeadline } from "../support/patience.ts";
import { detail, html, json } from "../support/replies.ts";

const THROTTLED = "The service allows no more requests for now.";
const NOT_READY = "The service is not ready.";
const REDIRECTED = "The service redirected, which is never followed.";
const NO_JSON = "The service's answer is no JSON.";
const TOO_LONG = "The service's answer is longer than 1000 bytes.";
const FORBIDDEN = "You do not have permission to perform this action.";
const empty = (status: number, headers: Record<string, string> = {}): Told => ({ status, text: "", headers });
const redirect = (status: number) => empty(status, { location: "/elsewhere" });
const patience = (status: number, seconds: number) => empty(status, { "retry-after": `${seconds}` });

type Row = readonly [told: Told, code: string, message: string];
const titled = (rows: readonly Row[]) =>
  rows.map((row) => [`${row[0].status} ${JSON.stringify(row[0]).slice(0, 70)}`, ...row] as const);

const REFUSALS: readonly Row[] = [
  [json(400, { a: ["Not a number."] }), "BAD_USER_INPUT", "a: Not a number."],
  [detail(401, "Invalid token."), "UNAUTHENTICATED", "Invalid token."],
  [detail(403, FORBIDDEN), "FORBIDDEN", FORBIDDEN],
  [detail(404, "No such run."), "NOT_FOUND", "No such run."],
  [detail(409, "Already stopped."), "CONFLICT", "Already stopped."],
  [html(418), "UPSTREAM_ERROR", "The service answered 418."],
  [redirect(301), "UPSTREAM_BAD_RESPONSE", REDIRECTED],
  [redirect(308), "UPSTREAM_BAD_RESPONSE", REDIRECTED],
  [html(429), "RATE_LIMITED", THROTTLED],
  [patience(429, 0), "RATE_LIMITED", THROTTLED],
  [patience(429, 1), "RATE_LIMITED", THROTTLED],
  [html(503), "UPSTREAM_UNAVAILABLE", NOT_READY],
  [patience(503, 7), "UPSTREAM_UNAVAILABLE", NOT_READY],
];

test.each(titled(REFUSALS))(
  "a command that is answered with %s has not happened",
  async (_, told, code, message) => {
    // A login has codes of its own.
    const these = oneOfEach.filter(({ name }) => name !== "login");
    const service = await startFake(() => told);
    const { status = 200, headers } = told;
    const seconds = headers?.["retry-after"];
    const facts = { status, ...(seconds !== undefined && { retryAfterSeconds: Number(seconds) }) };
    expect(await sendEach(service.url, these)).toEqual(allFail(these, code, message, facts));
    expect(service.calls()).toEqual(sortedCalls(these));
  },
);

const UNCLEAR: readonly Row[] = [
  [redirect(302), "UPSTREAM_BAD_RESPONSE", REDIRECTED],
  [redirect(303), "UPSTREAM_BAD_RESPONSE", REDIRECTED],
  [redirect(304), "UPSTREAM_BAD_RESPONSE", REDIRECTED],
  [html(500), "UPSTREAM_ERROR", "The service answered 500."],
  [html(502), "UPSTREAM_UNAVAILABLE", OUT_OF_REACH],
  [html(504), "UPSTREAM_UNAVAILABLE", OUT_OF_REACH],
  [empty(201), "UPSTREAM_BAD_RESPONSE", NO_JSON],
  [html(200), "UPSTREAM_BAD_RESPONSE", NO_JSON],
  [json(200, { id: 1, token: "x".repeat(2_000) }), "UPSTREAM_BAD_RESPONSE", TOO_LONG],
];

test.each(titled(UNCLEAR))(
  "a command that is answered with %s may have happened",
  async (_, told, code, message) => {
    const { status = 200 } = told;
    const these = status < 300 ? answering : oneOfEach;
    const service = await startFake(() => told);
    const facts = { ...(message !== TOO_LONG && { status }), ...UNKNOWN_OUTCOME };
    const answers = await sendEach(service.url, these, { MAX_JSON_BYTES: "1000" });
    expect(answers).toEqual(allFail(these, code, message, facts));
    expect(service.calls()).toEqual(sortedCalls(these));
  },
);

/** A service that does something else than answer to each request, once all of it has arrived. */
async function startFailing(fail: (response: ServerResponse) => unknown) {
  const calls: string[] = [];
  const url = await listen(async (request, response) => {
    for await (const _ of request);
    calls.push(onWire({ method: request.method ?? "", path: request.url ?? "" }));
    fail(response);
  });
  return { url, calls: () => calls.toSorted() };
}

describe("a command is sent once, and may have happened, when", () => {
  test.each<[string, typeof oneOfEach, (response: ServerResponse) => unknown]>([
    ["the connection ends without an answer", oneOfEach, (response) => response.destroy()],
    ["the connection is reset", oneOfEach, (response) => response.socket?.resetAndDestroy()],
    [
      "the connection breaks in the middle of an answer that is read",
      answering,
      (response) => {
        response.writeHead(201, { "content-type": "application/json", "content-length": 5_000 });
        response.write(`{"id": `, () => response.destroy());
      },
    ],
  ])("%s", async (_, these, fail) => {
    const service = await startFailing(fail);
    expect(await sendEach(service.url, these)).toEqual(
      allFail(these, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH, UNKNOWN_OUTCOME),
    );
    expect(service.calls()).toEqual(sortedCalls(these));
  });

  test("the connection is closed as soon as it is open", async () => {
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
    ["its answer takes too long to begin", oneOfEach, "UPSTREAM_HEADERS_TIMEOUT_MS", ""],
    ["its answer takes too long", oneOfEach, "UPSTREAM_TIMEOUT_MS", ""],
    ["an answer that is read does not end in time", answering, "UPSTREAM_TIMEOUT_MS", `{"id": `],
    ["the time of the request is over", oneOfEach, "REQUEST_TIMEOUT_MS", ""],
  ])("%s", async (_, these, setting, begun) => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing((response) => begun && response.write(begun));
      expect(await sendEach(service.url, these, { [setting]: `${deadlineMs}` })).toEqual(
        allFail(these, "UPSTREAM_TIMEOUT", NOT_IN_TIME, UNKNOWN_OUTCOME),
      );
      expect(service.calls()).toEqual(sortedCalls(these));
    });
  });
});

describe("a command that was not sent has not happened:", () => {
  test.each([
    ["nobody listens", async () => "http://127.0.0.1:1"],
    ["no secure connection comes about", async () => (await startWilling()).url.replace("http:", "https:")],
  ])("%s", async (_, start) => {
    const expected = allFail(oneOfEach, "UPSTREAM_UNAVAILABLE", OUT_OF_REACH);
    expect(await sendEach(await start(), oneOfEach)).toEqual(expected);
  });

  const two = `mutation {
    first: stopExperiment(id: "ada.mnist.3", force: true) { __typename }
    second: stopExperiment(id: "ada.mnist.4", force: true) { __typename }
  }`;

  test("the operation may cause no further request", async () => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_REQUESTS: "1" } });
    expect(outcomeOf(await ask(two))).toMatchObject({
      data: { first: { __typename: "StopExperimentPayload" }, second: null },
      errors: [{ at: "second", code: "REQUEST_LIMIT_EXCEEDED", unsentRequests: 1 }],
    });
    expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/stop"]);
  });

  test("the time of the request is over before its turn comes", async () => {
    await withDeadline(async (deadlineMs) => {
      const service = await startFailing(() => {});
      const env = { ...RETRYING, REQUEST_TIMEOUT_MS: `${deadlineMs}` };
      const { ask } = await startGateway({ upstream: service, env });
      const upstream = { method: "POST", route: "{owner}/{project}/experiments/{id}/stop" };
      const never = "The request's time was over before the service could be asked.";
      expect(outcomeOf(await ask(two))).toEqual({
        data: { first: null, second: null },
        errors: [
          failure("first", "UPSTREAM_TIMEOUT", NOT_IN_TIME, { upstream, ...UNKNOWN_OUTCOME }),
          failure("second", "UPSTREAM_TIMEOUT", never, { upstream }),
        ],
      });
      expect(service.calls()).toEqual(["POST ada/mnist/experiments/3/stop"]);
    });
  });
});
