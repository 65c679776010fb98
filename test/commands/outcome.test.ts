import { describe, expect, test } from "vitest";
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
import { html } from "../support/replies.ts";

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
