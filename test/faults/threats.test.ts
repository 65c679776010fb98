import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Answer, listen, startFake, startGateway, startRecords } from "../harness.ts";
import { bombOf, flood, reset, say, startCounter, startFaultServer } from "../harness-faults.ts";
import { RECORDINGS, readRecording } from "../harness-replay.ts";

const ASK = `{ experiment(id: "ada.mnist.42") { status } }`;
const RUNNING = { data: { experiment: { status: "RUNNING" } } };
const EXPERIMENT = { id: 42, last_status: "running" };
const RECORDS = { "ada/mnist/experiments/42/": EXPERIMENT };

const codesOf = ({ errors }: Answer<unknown>) => errors?.map(({ extensions }) => extensions["code"]) ?? [];

/** Posts a body as it is. */
async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "token t0ken", ...headers },
    body,
  });
  return { status: response.status, text: await response.text() };
}

describe("what one caller gets, no other caller sees", () => {
  /** 200 requests of 20 callers at once, each for the same record; the service writes the token into it. */
  async function askAsMany(isBroken: (call: number) => boolean) {
    const service = await startFaultServer(({ headers, path }) => ({
      json: {
        id: Number(/(\d+)\/$/.exec(path)?.[1]),
        last_status: "running",
        description: String(headers["authorization"]),
        build_job: "ada.mnist.builds.9",
      },
    }));
    service.fail(/./, reset, (call) => isBroken(call) && call % 10 === 1);
    service.fail(
      /./,
      say({ status: 500, json: { detail: "no" } }),
      (call) => isBroken(call) && call % 10 === 5,
    );
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    const query = `{ experiment(id: "ada.mnist.42") { description buildJob { description } } }`;
    return Promise.all(
      Array.from({ length: 200 }, async (_, turn) => {
        const token = `caller-${turn % 20}`;
        const { data } = await ask<{ experiment: Seen | null }, unknown>(query, {}, { token });
        const seen = [data.experiment?.description, data.experiment?.buildJob?.description];
        return { token, seen: seen.filter((each) => each != null) };
      }),
    );
  }
  interface Seen {
    readonly description: string | null;
    readonly buildJob: { readonly description: string | null } | null;
  }

  test("while all goes well", async () => {
    for (const { token, seen } of await askAsMany(() => false)) {
      expect(seen).toEqual([`token ${token}`, `token ${token}`]);
    }
  });

  test("while the service fails now and then", async () => {
    const answers = await askAsMany(() => true);
    for (const { token, seen } of answers) {
      expect(seen.filter((each) => each !== `token ${token}`)).toEqual([]);
    }
    expect(answers.filter(({ seen }) => seen.length < 2).length).toBeGreaterThan(0);
    expect(answers.filter(({ seen }) => seen.length === 2).length).toBeGreaterThan(100);
  });
});

describe("the service cannot send the gateway elsewhere", () => {
  const STATUSES = `{ experiment(id: "ada.mnist.42") { statuses(first: 100) { nodes { status } } } }`;

  test.each([
    (elsewhere: string) => `${elsewhere}/api/v1/ada/mnist/experiments/42/statuses?offset=1`,
    (elsewhere: string) => `${elsewhere.replace("http:", "")}/x?limit=1&offset=2`,
    (elsewhere: string) => `${elsewhere}/@127.0.0.1/?page=2&token=x`,
    () => "file:///etc/passwd?cursor=x",
    () => "?offset=1&x=y",
    () => "../../../admin/?page=2",
  ])("by the link to the next page", async (link) => {
    const elsewhere = await startCounter();
    const service = await startFake(() => ({
      json: { count: 9, next: link(elsewhere.url), results: [{ id: 1, status: "created" }] },
    }));
    const { ask } = await startGateway({ upstream: service });
    const answer = (await ask(STATUSES)) as Answer<unknown>;
    expect(codesOf(answer)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    expect(elsewhere.connections()).toBe(0);
    for (const { path } of service.seen()) {
      expect(path).toMatch(
        /^\/api\/v1\/ada\/mnist\/experiments\/42\/statuses(\?(limit|offset|page|cursor)=\w*(&offset=2)?)?$/,
      );
    }
  });

  test.each([301, 302, 303, 307, 308])(
    "by a Location in an answer of %i, to a read, a command or a download",
    async (status) => {
      const elsewhere = await startCounter();
      const service = await startFake(() => ({
        status,
        text: "",
        headers: { location: `${elsewhere.url}/x` },
      }));
      const { ask, url } = await startGateway({ upstream: service });
      const command = `mutation { stopExperiment(id: "ada.mnist.42") { experiment { status } } }`;
      for (const query of [ASK, command]) {
        expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
      }
      const id = Buffer.from("Experiment:ada/mnist/42").toString("base64url");
      const headers = { authorization: "token t0ken" };
      const download = await fetch(`${url}/downloads/${id}/outputs`, { headers, redirect: "manual" });
      expect([download.status, download.headers.get("location")]).toEqual([502, null]);
      await download.text();
      expect(elsewhere.connections()).toBe(0);
    },
  );
});

/** `{"a":{"a":…}}`, or lists in lists. */
const nested = (depth: number, [open, close]: readonly [string, string] = ["[", "]"]) =>
  open.repeat(depth) + close.repeat(depth);

describe("an answer of the service cannot bring the gateway down", () => {
  test("by inflating in the memory: commands, reads and refusals", async () => {
    const text = await bombOf(60);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const service = await startFaultServer(() => ({ text, headers }));
    const { ask } = await startGateway({ upstream: service });
    expect(codesOf((await ask(ASK)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    service.fail(/./, say({ status: 404, text, headers }));
    expect(codesOf((await ask(ASK)) as Answer<unknown>)).toEqual(["NOT_FOUND"]);
  });

  test("by a refusal, or an answer to a command, that has no end", async () => {
    const service = await startFaultServer(() => ({ json: EXPERIMENT }));
    const { ask } = await startGateway({ upstream: service });
    const closed: Promise<unknown>[] = [];
    service.fail(/stop/, (trouble) => {
      closed.push(new Promise((gone) => trouble.response.on("close", gone)));
      return flood({ chunk: "x".repeat(100_000) })(trouble);
    });
    const command = `mutation { stopExperiment(id: "ada.mnist.42") { experiment { status } } }`;
    expect(await ask(command)).toEqual({ data: { stopExperiment: { experiment: { status: "RUNNING" } } } });
    expect(closed).toHaveLength(1);
    await Promise.all(closed);
  });

  test.each([
    ["lists in lists", nested(100_000)],
    ["objects in objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
    ["brackets that are never closed", "[".repeat(100_000)],
    ["a record with lists in lists under its declarations", `{"id": 42, "declarations": ${nested(100_000)}}`],
    [
      "a record with objects in objects under its name",
      `{"id": 42, "name": ${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`,
    ],
    ["a record with a deep text of YAML", JSON.stringify({ id: 42, content: nested(20_000) })],
  ])("by its depth: %s", async (_, text) => {
    const service = await startFaultServer(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const query = `{ experiment(id: "ada.mnist.42") { name declarations config { cmd: version } } gateway { limits { maxDepth } } }`;
    const answer = (await ask(query)) as Answer<{ gateway: object }>;
    expect(codesOf(answer)).not.toContain("INTERNAL_SERVER_ERROR");
    expect(answer.data.gateway).toEqual({ limits: { maxDepth: 15 } });
    service.fail(/./, say({ status: 400, text, headers: { "content-type": "application/json" } }));
    expect(codesOf((await ask(ASK)) as Answer<unknown>)).toEqual(["BAD_USER_INPUT"]);
    service.heal();
    service.fail(/./, say({ json: EXPERIMENT }));
    expect(await ask(ASK)).toEqual(RUNNING);
  });

  test(
    "by text that is slow to read: quotes that are escaped and never closed",
    { timeout: 5_000 },
    async () => {
      const text = `{"id": 42, "name": "${'\\"'.repeat(30_000)}`;
      const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
      const { ask } = await startGateway({
        upstream: service,
        env: { UPSTREAM_TIMEOUT_MS: "60000", REQUEST_TIMEOUT_MS: "60000" },
      });
      expect(codesOf((await ask(ASK)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    },
  );

  test("by a long list of things that are no records", { timeout: 10_000 }, async () => {
    const text = `{"results": [${"7,".repeat(200_000)}7]}`;
    const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
    const { ask } = await startGateway({ upstream: service });
    const query = `{ experiment(id: "ada.mnist.42") { statuses { nodes { status } } } }`;
    expect(codesOf((await ask(query)) as Answer<unknown>)).toEqual(["UPSTREAM_BAD_RESPONSE"]);
  });

  test.each(["__proto__", "constructor", "hasOwnProperty", "toString", "prototype"])(
    "by a metric that is called %s",
    async (name) => {
      const text = `{"id": 42, "last_metric": {"${name}": 1, "loss": 0.5}, "declarations": {"${name}": {"polluted": true}}}`;
      const service = await startFake(() => ({ text, headers: { "content-type": "application/json" } }));
      const { ask } = await startGateway({ upstream: service });
      const query = `query ($name: String!) { experiment(id: "ada.mnist.42") {
        lastMetric(names: [$name]) { name value }
        known: lastMetricValue(name: $name)
        loss: lastMetricValue(name: "loss")
        unknown: lastMetricValue(name: "valueOf")
      } }`;
      expect(await ask(query, { name })).toEqual({
        data: { experiment: { lastMetric: [{ name, value: 1 }], known: 1, loss: 0.5, unknown: null } },
      });
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    },
  );
});
