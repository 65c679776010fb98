import { expect } from "vitest";
import { startFake, type FakeResponse } from "./fake.ts";
import { type Answer, type Gateway, startGateway } from "./gateway.ts";
import { globalId } from "./ids.ts";
import { portIn } from "./listen.ts";

export const ASK_STATUS = `{ experiment(id: "ada.mnist.42") { status } }`;

export const STATUS_CALL = "GET ada/mnist/experiments/42/";
export const STATUS_UPSTREAM = { method: "GET", route: "{owner}/{project}/experiments/{id}/" };

export const RUNNING_RECORD = { id: 42, last_status: "running" };
export const RUNNING_ANSWER = { data: { experiment: { status: "RUNNING" } } };

export const SECRET_TOKEN = "c4nary.T0ken";

/** The response to `ASK` when it fails, in a request named `request-1`. */
export const failedStatus = (code: string, message: string, details: object = {}) => ({
  data: { experiment: null },
  errors: [
    {
      message,
      locations: [{ line: 1, column: 3 }],
      path: ["experiment"],
      extensions: { code, requestId: "request-1", ...details },
    },
  ],
});

const SECRETS = ["c4nary", "canary", "n3w", "127.0.0.1", ".internal", "ada/mnist", "<html", "<h1", "  at "];

/**
 * Expects that neither the result nor the log contains a secret: the address of the service, content of its responses, a stack or a token.
 */
export function expectNothingLeaked(answer: unknown, logged: string, url: string): void {
  const words = `${JSON.stringify(answer)} ${logged}`.replaceAll(/"(?:time|ms)":\d+/g, "");
  expect(SECRETS.filter((secret) => words.includes(secret))).toEqual([]);
  expect(words).not.toMatch(portIn(url));
}

/** Reads one experiment from a service that sends the same response to every request. */
export async function askOf(reported: FakeResponse, env: Record<string, string> = {}) {
  const service = await startFake(() => reported);
  const { ask, logged } = await startGateway({ upstream: service, token: SECRET_TOKEN, env });
  const answer = await ask(ASK_STATUS, {}, { headers: { "x-request-id": "request-1" } });
  expectNothingLeaked(answer, logged(), service.url);
  return { answer, calls: service.calls() };
}

/** The JSON of a record that is `bytes` long. */
export const recordTextOf = (bytes: number) => {
  const bare = JSON.stringify({ ...RUNNING_RECORD, description: "" });
  return JSON.stringify({ ...RUNNING_RECORD, description: "x".repeat(bytes - bare.length) });
};

export const jsonText = (text: string | Buffer, encoding?: string): FakeResponse => ({
  text,
  headers: { "content-type": "application/json", ...(encoding ? { "content-encoding": encoding } : {}) },
});

export const RECORD_TEXT = JSON.stringify(RUNNING_RECORD);

/** The experiment that most tests read. */
const EXPERIMENT_ID = globalId("Experiment:ada/mnist/42");

export const OUTPUTS_OF_42 = `/downloads/${EXPERIMENT_ID}/outputs`;

/** `ok`, or the code of the first error. */
export const firstCodeOf = ({ errors }: Answer<unknown>): string =>
  errors ? String(errors[0]?.extensions["code"]) : "ok";

export const askFor = ({ ask }: Gateway, query = ASK_STATUS, token = "t0ken"): Promise<Answer<unknown>> =>
  ask(query, {}, { token });

/** A query of another experiment. */
export const statusOf = (id: number) => `{ experiment(id: "ada.mnist.${id}") { status } }`;

/** A query of these experiments, each in a separate field. */
export const statusesOf = (ids: readonly number[]) =>
  `{ ${ids.map((id) => `of${id}: experiment(id: "ada.mnist.${id}") { status }`).join(" ")} }`;

/** The numbers from 1 on. */
export const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

/** The number of the experiment in a path. */
export const experimentIn = (path = "") => Number(/experiments\/(\d+)/.exec(path)?.[1]);
