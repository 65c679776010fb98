import { cpSync, existsSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { askAt } from "../support/gateway.ts";
import { createFolder } from "../support/build.ts";
import { BUILT } from "../support/built.ts";
import { startFake } from "../support/fake.ts";
import { openPort } from "../support/listen.ts";
import { mainIn, READY_LINE, startMain, startProgram, startReady } from "../support/main-process.ts";
import { firstCodeOf, RUNNING_RECORD, statusesOf } from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import WRONG_SETTINGS from "./wrong-settings.json" with { type: "json" };

/** A program of util-linux that runs another one in a terminal. */
const SCRIPT = "/usr/bin/script";

const linesOf = (text: string): unknown[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

describe("the gateway as a process", () => {
  test("reports wrong, unknown and removed settings without values, and exits with 2", async () => {
    const first = Object.entries(WRONG_SETTINGS).map(([name, [text = ""]]) => [name, text]);
    const wrong = { ...Object.fromEntries(first), MAX_TOKENS: "canary", MAX_DEPHT: "canary" };
    const { ended, out, err } = startMain(wrong);
    expect([await ended, out()]).toEqual([2, ""]);
    const { faults: problems, ...line } = JSON.parse(err()) as { faults: string[] };
    expect(line).toEqual({
      level: 60,
      severity: "CRITICAL",
      time: expect.any(Number),
      msg: "The settings cannot be used",
    });
    const named = problems.map((problem) => /^\w+/.exec(problem)?.[0]);
    expect(new Set(named)).toEqual(new Set(Object.keys(wrong)));
    expect(err()).not.toMatch(/canary|^ {4}at /m);
  });

  test("starts without upstream requests or stderr output, and exits 0 on SIGINT", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { url, kill, ended, out, err } = await startReady({ UPSTREAM_URL: service.url });
    await askAt(url, "t0ken", "{ viewer { username } }");
    expect(service.seen()).toHaveLength(1);
    expect(out()).not.toMatch(/password|t0ken/);
    kill("SIGINT");
    expect([await ended, err()]).toEqual([0, ""]);
  });

  test("keeps answering after its log reader closes", async () => {
    const { url, kill, ended, closeOutput } = await startReady();
    closeOutput();
    for (let request = 0; request < 100; request++)
      expect(await askAt(url, "t0ken", "{ __typename }")).toEqual({ data: { __typename: "Query" } });
    kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("answers, logs some lines and exits with 0 despite a full pipe", async () => {
    const { url, kill, exited, out, pauseReading, resumeReading } = await startReady();
    /** A line has 450 bytes, so the pipe is full after some hundred lines. One token may have 32 operations at a time. */
    const askOften = async (times: number, name: string) => {
      for (let sent = 0; sent < times; sent += 32)
        await Promise.all(
          Array(32)
            .fill(`query ${name} { __typename }`)
            .map((query: string) => askAt(url, "t0ken", query)),
        );
    };
    pauseReading();
    await askOften(5_000, "Held".repeat(25));
    resumeReading();
    await vi.waitFor(async () => {
      await askOften(32, "Read");
      expect(out()).toContain('"name":"Read"');
    }, LONG_TIMEOUT);
    const kept = out().match(/"name":"Held/g)?.length ?? 0;
    // The buffer of one megabyte holds 2,200 lines. The pipe and its reader hold 700 lines.
    expect(kept).toBeGreaterThan(1_000);
    expect(kept).toBeLessThan(4_500);
    pauseReading();
    await askOften(1_500, "Held".repeat(25));
    kill("SIGTERM");
    expect(await exited).toBe(0);
  });

  test("logs demo credentials and only JSON lines without a terminal", async () => {
    const { url, kill, ended, out, err } = await startReady({ NODE_ENV: "production", DEMO: "on" });
    await askAt(url, "t0ken", "{ __typename }");
    kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(err()).toBe("");
    const users = expect.arrayContaining([{ username: "ada", password: "ada-demo" }]);
    const demo = { token: expect.any(String), users };
    expect(linesOf(out())).toEqual([
      {
        level: 30,
        severity: "INFO",
        time: expect.any(Number),
        url,
        page: true,
        demo,
        msg: `Rungraph is ready: ${url}`,
      },
      expect.objectContaining({ level: 30, msg: "operation", type: "query" }),
      { level: 30, severity: "INFO", time: expect.any(Number), msg: "draining" },
    ]);
  });

  describe.skipIf(!existsSync(SCRIPT))("on a terminal", () => {
    /** Starts the gateway in its own terminal, which ends lines with a carriage return. */
    const startOnTerminal = (environment: Record<string, string> = {}) =>
      startProgram(
        [SCRIPT, "-qec", `${process.execPath} ${mainIn(BUILT)}`, "/dev/null"],
        { PORT: "0", ...environment },
        BUILT,
      );

    test("prints credentials and an example, and detailed requests with LOG_LEVEL=debug", async () => {
      const { printed, out } = startOnTerminal({ LOG_LEVEL: "DEBUG" });
      await printed(/^ {4}-d '\{"query":/m);
      expect(out()).toMatch(/\/graphql {2}\(GraphiQL in a browser\)\r$/m);
      expect(out()).toMatch(/^ {2}ada +password \S+/m);
      expect(out()).toMatch(/^ {2}Authorization: token \S+\r$/m);
      await askAt(/http\S+\/graphql/.exec(out())?.[0] ?? "", "t0ken", "{ __typename }");
      await printed(/^[\d:]{8} info operation requestId="\S+" caller="\S{8}" type="query" .*status=200/m);
    });

    test.each([{ TRUSTED_DOCUMENTS: join(BUILT, "schema/persisted-documents.json") }, { GRAPHIQL: "off" }])(
      "with %j does not mention GraphiQL",
      async (environment: Record<string, string>) => {
        const { printed, out } = startOnTerminal(environment);
        await printed(/^Only the documents of TRUSTED_DOCUMENTS|^ {4}-d /m);
        expect(out()).not.toContain("GraphiQL");
        expect(out().includes(`"query"`)).toBe(!("TRUSTED_DOCUMENTS" in environment));
      },
    );

    test("prints readable lines for each request and for wrong settings", async () => {
      const { printed } = startOnTerminal();
      const [, url = ""] = await printed(READY_LINE);
      await askAt(url, "t0ken", `query ${"Long".repeat(25)} { viewer { username } }`);
      await printed(/^\d\d:\d\d:\d\d 200 query (?:Long){7}Lo \d+ ms 1 upstream UNAUTHENTICATED\r$/m);
      const wrong = startOnTerminal({ PORT: "canary" });
      await wrong.printed(/^The settings cannot be used:\r\nPORT: expected a whole number/m);
      expect(await wrong.ended).toBe(2);
    });
  });

  test("prints a usable address when it listens on all addresses", async () => {
    const { url } = await startReady({ HOST: "0.0.0.0" });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  test("starts with an unreachable service, and omits the address from the warning", async () => {
    const { url, err } = await startReady({ UPSTREAM_URL: "http://127.0.0.1:1/canary" });
    await vi.waitUntil(() => err() !== "", LONG_TIMEOUT);
    expect(linesOf(err())).toEqual([
      {
        level: 40,
        severity: "WARNING",
        time: expect.any(Number),
        cause: "ECONNREFUSED",
        msg: "UPSTREAM_URL cannot be reached (ECONNREFUSED). Until it can, answers are UPSTREAM_UNAVAILABLE.",
      },
    ]);
    expect(await askAt(url, "t0ken", "{ viewer { username } }")).toMatchObject({
      errors: [{ extensions: { code: "UPSTREAM_UNAVAILABLE" } }],
    });
  });

  test("logs the source location of an unexpected error", async () => {
    const folder = createFolder("incomplete-");
    // Omits the files that the page loads.
    const filter = (path: string) => !path.startsWith(join(BUILT, "src/http/graphiql/page/"));
    for (const part of ["dist", "package.json", "schema", "src"])
      cpSync(join(BUILT, part), join(folder, part), { recursive: true, filter });
    symlinkSync(join(BUILT, "node_modules"), join(folder, "node_modules"));
    const { url, printed } = await startReady({}, [], folder);
    await expect(fetch(url, { headers: { accept: "text/html" } })).rejects.toThrow("fetch failed");
    const [line] = await printed(/^.*"unexpected error".*$/m);
    expect(JSON.parse(line)).toMatchObject({
      at: expect.arrayContaining([expect.stringMatching(/^dist\/src\/http\/graphiql\/page\.js:\d+:\d+$/)]),
    });
  });

  test("limits a caller's memory to a sixth of a small heap", async () => {
    const json = { ...RUNNING_RECORD, description: "x".repeat(7_000_000) };
    const service = await startFake(() => ({ json }));
    const options = ["--max-old-space-size=64", "--max-semi-space-size=1"];
    const { url } = await startReady({ UPSTREAM_URL: service.url }, options);
    expect(firstCodeOf(await askAt(url, "t0ken", statusesOf([1])))).toBe("ok");
    expect(firstCodeOf(await askAt(url, "t0ken", statusesOf([2, 3])))).toBe("REQUEST_LIMIT_EXCEEDED");
  });

  test("reports a port in use and exits with code 1", async () => {
    const port = `${await openPort(createServer())}`;
    const { ended, err, out } = startMain({ PORT: port, UPSTREAM_URL: "http://127.0.0.1:1" });
    expect(await ended).toBe(1);
    expect(err()).toContain(`Cannot listen on HOST 127.0.0.1, PORT ${port}: EADDRINUSE`);
    expect(out()).not.toContain("ready");
  });

  /** Passes an error of accept(2) to the server at each SIGUSR2, as libuv does: `-24` is EMFILE. */
  const FAILING_ACCEPT = `data:text/javascript,
    import { Server } from "node:net";
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...given) {
      process.on("SIGUSR2", () => this._handle.onconnection(-24));
      return listen.apply(this, given);
    };`;

  test("survives connections that cannot be accepted, logging only their error codes", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const options = ["--import", FAILING_ACCEPT.replaceAll(/\s+/g, " ")];
    const { url, printed, err, kill } = await startReady({ UPSTREAM_URL: service.url }, options);
    for (const times of [1, 2]) {
      kill("SIGUSR2");
      await printed(new RegExp(`(?:"code":"EMFILE","msg":"a connection was not accepted"[^]*){${times}}`));
      expect(await askAt(url, "t0ken", "{ viewer { username } }")).toEqual({
        data: { viewer: { username: "ada" } },
      });
    }
    expect(err()).not.toContain("Cannot listen");
  });
});
