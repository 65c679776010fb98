import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { clientOf } from "../live/socket-client.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { JSON_BODY, operationsIn, sendTo } from "../support/raw-requests.ts";
import LINES from "./log-lines.json" with { type: "json" };

const linesIn = (logged: string): Record<string, unknown>[] =>
  logged
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the gateway's log", () => {
  test("has one line per operation and upstream request, without callers' values", async () => {
    const { ask, logged } = await startDemoGateway();
    const headers = { "x-canary": "canary", cookie: "canary=1" };
    const page = `query Page($id: ID!) { experiment(id: $id) { status description } }`;
    await ask(page, { id: "canary.canary.471100174" }, { headers });
    const login = `login(input: { username: $name, password: "canary" }) { token }`;
    await ask(`mutation In($name: String!) { ${login} }`, { name: "canary" }, { token: null });
    await ask(`{ viewer { username } secret: job(id: "canary") { id } }`);
    await ask("{ canary }", {}, { token: "canary" });
    await ask(`query ${"Long".repeat(50)} { __typename }`);
    const lines = linesIn(logged());
    const reported = lines.map(({ msg, level, type, name, codes, method, route, outcome }) =>
      msg === "operation" ? { level, type, name, codes } : { level, method, route, outcome },
    );
    expect(reported).toEqual(LINES.reported);
    const KEYS =
      `caller client clientVersion codes failed hash level method ms msg name outcome requestId route status time
      traceId type upstreamRequests`.split(/\s+/);
    for (const line of lines) expect(KEYS).toEqual(expect.arrayContaining(Object.keys(line)));
    for (const { ms } of lines) expect(Number.isInteger(ms)).toBe(true);
    expect(logged()).not.toMatch(/canary|471100174|authorization/i);
  });

  test("records the caller, name and outcome of an operation", async () => {
    const { ask, logged } = await startDemoGateway({ env: { CALLER_SALT: "a salt of the example" } });
    const document = `query Page { viewer { username } job(id: "ada.mnist.jobs.4242") { status } }`;
    const headers = {
      "graphql-client-name": "web",
      "graphql-client-version": "1.2",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
      "x-request-id": "page-7",
    };
    await ask(document, {}, { headers });
    await ask("{ canary }", {}, { token: null, headers: { "graphql-client-name": "canäry" } });
    const [page, invalid] = operationsIn(logged());
    expect(page).toEqual({
      ...LINES.page,
      time: expect.any(Number),
      ms: expect.any(Number),
      caller: expect.stringMatching(/^[\w-]{8}$/),
      hash: createHash("sha256").update(document).digest("hex"),
    });
    expect(invalid).toMatchObject(LINES.invalid);
  });

  test("lists at most five failed endpoints with the request id", async () => {
    const upstream = await startFake(({ path }) => {
      if (path.includes("/logs")) return { status: 503, json: {} };
      if (path.includes("/jobs/3/")) return { text: "no JSON" };
      return { status: path.includes("/jobs/") ? 500 : 418, json: { detail: "canary" } };
    });
    const { ask, url, logged } = await startGateway({ upstream, env: { UPSTREAM_RETRIES: "0" } });
    const query = `{
      a: job(id: "ada.mnist.jobs.1") { status }
      b: job(id: "ada.mnist.jobs.2") { status }
      c: job(id: "ada.mnist.jobs.3") { status }
      d: experiment(id: "canary.mnist.4") { status }
      e: buildJob(id: "ada.mnist.builds.5") { status }
      f: group(id: "ada.mnist.6") { id description }
      g: viewer { username }
    }`;
    await ask(query, {}, { headers: { "x-request-id": "page-7" } });
    const headers = { authorization: "token t0ken", "x-request-id": "page-8" };
    await (await fetch(`${url}/downloads/${globalId("Job:ada/mnist/3")}/logs`, { headers })).text();
    const failed = linesIn(logged())
      .filter(({ level }) => level === 30)
      .map(({ requestId, failed: at }) => [requestId, at]);
    const places = [
      ["jobs/{id}/", "500", 2],
      ["jobs/{id}/", "UPSTREAM_BAD_RESPONSE", 1],
      ...["experiments", "builds", "groups"].map((kind) => [`${kind}/{id}/`, "418", 1]),
      ["jobs/{id}/logs", "503", 1],
    ].map(([path, outcome, count]) => ({ at: `GET {owner}/{project}/${path}`, outcome, count }));
    expect(failed).toEqual([
      ["page-7", places.slice(0, 5)],
      ["page-8", places.slice(5)],
    ]);
    expect(logged()).not.toContain("canary");
  });

  test("records the caller of downloads and of WebSocket subscriptions", async () => {
    const { ask, url, demo, logged } = await startDemoGateway();
    await ask("{ viewer { username } }");
    const authorization = `token ${demo.users[0]?.token}`;
    const id = globalId("Experiment:ada/mnist/42");
    const headers = { authorization, "graphql-client-name": "web" };
    await (await fetch(`${url}/downloads/${id}/logs`, { headers })).text();
    const client = clientOf(url, { authorization });
    await client.iterate({ query: `subscription { runUpdated(id: "${id}") { run { status } } }` }).next();
    const lines = linesIn(logged());
    const caller = lines.find(({ msg }) => msg === "operation")?.["caller"];
    expect(caller).toMatch(/^[\w-]{8}$/);
    expect(lines.filter(({ msg }) => msg === "download")).toMatchObject([
      { caller, client: "web", clientVersion: "unknown", traceId: null, what: "logs", code: "OK" },
    ]);
    expect(lines.filter(({ type }) => type === "subscription")).toEqual([
      expect.objectContaining({ caller, client: null, hash: expect.any(String), status: null, codes: [] }),
    ]);
  });

  test("lists at most five unknown parameters at debug level", async () => {
    const { url, logged } = await startDemoGateway();
    const names = ["id", "the canary", "x".repeat(31), ...[1, 2, 3, 4, 5].map((index) => `own${index}`)];
    const own = Object.fromEntries(names.map((name) => [name, "canary"]));
    const query = "{ __typename }";
    const headers = { ...JSON_BODY, "x-request-id": "page-7" };
    const answer = await sendTo(`${url}/graphql`, { body: JSON.stringify({ query, ...own }), headers });
    expect(JSON.parse(answer.text)).toEqual({ data: { __typename: "Query" } });
    const client = clientOf(url, {});
    const { value } = await client.iterate({ query, ...own }).next();
    expect(value).toEqual({ data: { __typename: "Query" } });
    const ignored = linesIn(logged()).filter(({ msg }) => msg === "unknown parameters were ignored");
    const parameters = ["id", "own1", "own2", "own3", "own4"];
    expect(ignored).toEqual(
      ["page-7", expect.any(String)].map((requestId: unknown) => ({
        level: 20,
        time: expect.any(Number),
        requestId,
        parameters,
        count: 8,
        msg: "unknown parameters were ignored",
      })),
    );
    expect(logged()).not.toContain("canary");
  });

  test("gives a caller the same name in processes with the same CALLER_SALT", async () => {
    const upstream = await startFake(() => ({ json: { username: "ada" } }));
    const nameWith = async (env: Record<string, string>, token = "t0ken") => {
      const { ask, logged } = await startGateway({ upstream, env });
      await ask("{ viewer { username } }", {}, { token });
      return operationsIn(logged())[0]?.["caller"];
    };
    const salted = { CALLER_SALT: "a salt of the example" };
    const name = await nameWith(salted);
    expect(await nameWith(salted)).toBe(name);
    const others = [
      await nameWith(salted, "t0ken2"),
      await nameWith({ CALLER_SALT: "another salt of it" }),
      await nameWith({}),
      await nameWith({}),
    ];
    expect(new Set([name, ...others]).size).toBe(5);
  });
});
