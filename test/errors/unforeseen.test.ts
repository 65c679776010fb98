import pino from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createGateway } from "../../src/gateway.ts";
import { startRecords } from "../support/fake.ts";
import { listen } from "../support/listen.ts";
import {
  ASK_STATUS,
  expectNothingLeaked,
  failedStatus,
  RUNNING_RECORD,
  SECRET_TOKEN,
} from "../support/one-read.ts";
import { NO_DEADLINES } from "../support/long-timeout.ts";
import { post } from "../support/raw-requests.ts";

describe("an unexpected exception is masked and logged", () => {
  test.each(["development", "test", "production"])("with NODE_ENV %s", async (environment) => {
    vi.stubEnv("NODE_ENV", environment);
    onTestFinished(() => void vi.unstubAllEnvs());
    // A log that throws at the first warning represents any bug of the gateway.
    const lines: string[] = [];
    let failing = "warn";
    const log = pino(
      {
        base: null,
        hooks: {
          logMethod(args, method, level) {
            if (level === pino.levels.values[failing]) throw new TypeError("canary at 10.0.0.1:5432");
            method.apply(this, args);
          },
        },
      },
      { write: (line: string) => void lines.push(line) },
    );
    const record = { ...RUNNING_RECORD, name: 7 };
    const service = await startRecords({
      "ada/mnist/experiments/42/": record,
      "ada/mnist/experiments/42/restart/": record,
    });
    const gateway = createGateway({
      config: readConfig({ ...NO_DEADLINES }),
      upstreamUrl: new URL(service.url),
      log,
    });
    onTestFinished(() => gateway.close());
    const url = await listen(gateway.handle);
    const response = await post(
      `${url}/graphql`,
      { query: ASK_STATUS.replace("{", `{ wrong: job(id: "no") { id }`) },
      { authorization: `token ${SECRET_TOKEN}`, "x-request-id": "request-1" },
    );
    const { data, errors } = failedStatus("INTERNAL_SERVER_ERROR", "Something went wrong in the gateway.");
    const reported = [{ path: ["wrong"] }, { ...errors[0], locations: expect.anything() }];
    expect(await response.json()).toMatchObject({ data: { ...data, wrong: null }, errors: reported });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(`code="INTERNAL_SERVER_ERROR"} 1\n`);
    const line = lines.find((each) => each.includes("unexpected error"));
    expect(JSON.parse(line ?? "")).toEqual({
      level: 50,
      time: expect.any(Number),
      error: "TypeError",
      field: "experiment",
      at: expect.arrayContaining([expect.stringMatching(/^src\/observability\/event-log\.ts:\d+:\d+$/)]),
      msg: "unexpected error",
    });
    // A command may have been executed, whichever part fails here.
    const query = `mutation { restartExperiment(id: "ada.mnist.42") { experiment { status } } }`;
    const command = await post(`${url}/graphql`, { query }, { authorization: `token ${SECRET_TOKEN}` });
    expect(await command.json()).toMatchObject({
      errors: [{ extensions: { code: "UPSTREAM_BAD_RESPONSE", outcome: "unknown" } }],
    });
    // The connection must close even if the log fails after the operation.
    failing = "info";
    await expect(post(`${url}/graphql`, { query: ASK_STATUS })).rejects.toThrow("fetch failed");
    expectNothingLeaked({}, lines.join(""), service.url);
    expect(lines.join("")).not.toContain(process.cwd());
  });
});
