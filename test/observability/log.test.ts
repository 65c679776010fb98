import pino from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createGateway } from "../../src/gateway.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { listen } from "../support/listen.ts";
import { JSON_BODY, operationText, sendTo } from "../support/raw-requests.ts";

describe("the log of the gateway", () => {
  test("has one line for each operation and one for each exchange, and nothing that a caller sent", async () => {
    const { ask, logged } = await startDemoGateway();
    await ask(
      `query Page($id: ID!) { experiment(id: $id) { status description } }`,
      { id: "canary.canary.471100174" },
      { headers: { "x-canary": "canary", cookie: "canary=1" } },
    );
    await ask(
      `mutation In($name: String!) { login(input: { username: $name, password: "canary" }) { token } }`,
      { name: "canary" },
      { token: null },
    );
    await ask(`{ viewer { username } secret: job(id: "canary") { id } }`);
    await ask("{ canary }", {}, { token: "canary" });
    await ask(`query ${"Long".repeat(50)} { __typename }`);
    const lines = logged()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = lines.map(({ msg, level, type, name, codes, method, route, outcome }) =>
      msg === "operation" ? { level, type, name, codes } : { level, method, route, outcome },
    );
    const NOT_FOUND = {
      level: 20,
      method: "GET",
      route: "{owner}/{project}/experiments/{id}/",
      outcome: "404",
    };
    expect(told).toEqual([
      NOT_FOUND,
      { level: 30, type: "query", name: "Page", codes: ["NOT_FOUND"] },
      { level: 20, method: "POST", route: "users/token/", outcome: expect.stringMatching(/^4\d\d$/) },
      { level: 30, type: "mutation", name: "In", codes: ["BAD_CREDENTIALS"] },
      { level: 20, method: "GET", route: "users/", outcome: "2xx" },
      { level: 30, type: "query", name: null, codes: ["BAD_USER_INPUT"] },
      { level: 30, type: "invalid", name: null, codes: ["GRAPHQL_VALIDATION_FAILED"] },
      { level: 30, type: "query", name: "Long".repeat(25), codes: [] },
    ]);
    const KEYS = [
      "codes",
      "level",
      "method",
      "ms",
      "msg",
      "name",
      "outcome",
      "requestId",
      "route",
      "time",
      "type",
    ];
    for (const line of lines) expect(KEYS).toEqual(expect.arrayContaining(Object.keys(line)));
    for (const { ms } of lines) expect(Number.isInteger(ms)).toBe(true);
    expect(logged()).not.toMatch(/canary|471100174|authorization/i);
  });

  test("has no line for an exchange at the level it comes with", async () => {
    const fake = await startFake(() => ({ json: { username: "ada" } }));
    const config = readConfig({});
    const lines: string[] = [];
    const log = pino({ level: config.LOG_LEVEL }, { write: (line: string) => void lines.push(line) });
    const gateway = createGateway({ config, upstreamUrl: new URL(fake.url), log });
    onTestFinished(() => gateway.close());
    const url = await listen(gateway.handle);
    await sendTo(`${url}/graphql`, {
      body: operationText("query Who { viewer { isSuperuser } }"),
      headers: { ...JSON_BODY, authorization: "token t0ken" },
    });
    expect(fake.calls()).toHaveLength(1);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ msg: "operation", type: "query", name: "Who", codes: [] }),
    ]);
  });
});
