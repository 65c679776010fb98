import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigError, readConfig, SETTINGS } from "../../src/config.ts";
import { findMisspelled } from "../../src/config/misspelled.ts";
import { startFake } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { NO_DEADLINES, PATIENT } from "../support/patience.ts";

/** For each variable texts that it does not take. */
const WRONG: Readonly<Record<string, readonly string[]>> = {
  UPSTREAM_URL: [
    "canary",
    "ftp://canary.example",
    "//canary.example",
    "http://canary:canary@service.example",
    "http://canary@service.example",
    "http://service.example/?token=canary",
    "http://service.example/#canary",
  ],
  DEMO: ["canary", "true", "1"],
  UPSTREAM_PROFILE: ["canary", "DOCUMENT"],
  UPSTREAM_ROWS: [
    "canary",
    "[]",
    "7",
    '{"job.resume": 7}',
    '{"job.resume": "canary"}',
    '{"job.resume": "GET ../x"}',
    '{"job.resume": "GET canary/{id}"}',
    '{"job.read": "POST canary/{id}"}',
    '{"no.row": null}',
    '{"__proto__": null}',
    '{"__proto__": "GET canary/{id}"}',
    '{"__proto__": {"job.resume": null}}',
    '{"job.resume": null, "__proto__": 7}',
    '{"constructor": null}',
    '{"toString": "GET canary/"}',
  ],
  TYPE_NAMES: [
    "canary",
    "Group",
    "Group=",
    "Node=canary",
    "Node=Canary-canary",
    "Canary=Machine",
    "Query=Canary",
    "Node=Canary,Entity=Canary",
    "Node=Entity",
    "Group=Gateway",
    "Node=Canary,Node=Canary",
    "Node=Canary,Node=Other",
    "Node=Canary,Entity=Other,Node=Third",
    "Node=Query",
    "Node=Subscription",
    "Node=String",
    "Node=Float",
    "Node=DateTime",
    "Node=__Type",
    "Node=_Any",
    "_Any=Canary",
    "__Type=Canary",
    "__proto__=Canary",
    "Node=JobConnection",
    "Node=Canary,Job=CanaryConnection,JobConnection=Canary",
  ],
  PUBLIC_URL: ["canary", "javascript:canary", "https://service.example/?canary"],
  PORT: ["canary", "-1", "65536", "80.5"],
  GRAPHIQL: ["canary", "true", "1", "ON"],
  INTROSPECTION: ["canary", "false", "0"],
  TRUSTED_DOCUMENTS: ["/canary", "package-lock.json", "README.md", "src"],
  APQ: ["canary", "true"],
  DOCUMENT_CACHE_BYTES: ["canary", "0", "16MB"],
  REQUEST_TIMEOUT_MS: ["canary", "0", "-7777", "30s", "1.25", "3600001"],
  UPSTREAM_CONNECT_TIMEOUT_MS: ["canary", "0", "3600001"],
  UPSTREAM_HEADERS_TIMEOUT_MS: ["canary", "0", "3600001"],
  UPSTREAM_TIMEOUT_MS: ["canary", "0", "3600001"],
  UPSTREAM_IDLE_TIMEOUT_MS: ["canary", "0", "3600001"],
  UPSTREAM_RETRIES: ["canary", "-7777", "11", "1.25"],
  UPSTREAM_CONNECTIONS: ["canary", "0"],
  UPSTREAM_CONNECTIONS_PER_TOKEN: ["canary", "0"],
  UPSTREAM_QUEUE: ["canary", "0"],
  MAX_UPSTREAM_WIDTH: ["canary", "0"],
  MAX_UPSTREAM_REQUESTS: ["canary", "0"],
  MAX_UPSTREAM_BYTES: ["canary", "0", "64MB"],
  MAX_JSON_BYTES: ["canary", "0", "10MB"],
  MAX_LOG_BYTES: ["canary", "0", "1048577"],
  MAX_PAGE_SIZE: ["canary", "0", "501"],
  MAX_DEPTH: ["canary", "0"],
  MAX_TOKENS: ["canary", "0"],
  MAX_ALIASES: ["canary", "0"],
  MAX_ROOT_FIELDS: ["canary", "0"],
  MAX_FIELDS: ["canary", "0"],
  MAX_RESULT_FIELDS: ["canary", "0"],
  MAX_RESULT_BYTES: ["canary", "0", "32MB"],
  MAX_OPERATIONS: ["canary", "0", "-1", "2.5"],
  MAX_OPERATIONS_PER_TOKEN: ["canary", "0"],
  MAX_DOWNLOADS: ["canary", "0"],
  MAX_DOWNLOADS_PER_TOKEN: ["canary", "0"],
  MAX_WAITING_BYTES: ["canary", "0", "64MB"],
  READ_TIMEOUT_MS: ["canary", "0", "3600001"],
  MAX_BODY_BYTES: ["canary", "0", "256kB"],
  CORS_ORIGINS: [
    "canary",
    "*",
    "null",
    "https://canary.example/",
    "https://canary.example/path",
    "https://user@canary.example",
    "https://app.example canary",
    "https://app.example, canary",
  ],
  METRICS: ["canary", "true"],
  DRAIN_TIMEOUT_MS: ["canary", "0", "3600001"],
  LOG_LEVEL: ["canary", "INFO", "verbose"],
};
const ALL_WRONG = Object.fromEntries(Object.entries(WRONG).map(([name, [text = ""]]) => [name, text]));

/** The lines of complaint about these settings. */
function faultsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (fault) {
    if (fault instanceof ConfigError) return fault.message.split("\n");
    throw fault;
  }
  return [];
}

describe("settings", () => {
  test("have the documented defaults", () => {
    expect(readConfig({})).toMatchObject({
      HOST: "127.0.0.1",
      PORT: 4000,
      GRAPHIQL: true,
      INTROSPECTION: true,
      TYPE_NAMES: {},
      APQ: true,
      REQUEST_TIMEOUT_MS: 30_000,
      UPSTREAM_CONNECT_TIMEOUT_MS: 2_000,
      UPSTREAM_HEADERS_TIMEOUT_MS: 10_000,
      UPSTREAM_TIMEOUT_MS: 15_000,
      UPSTREAM_IDLE_TIMEOUT_MS: 30_000,
      UPSTREAM_RETRIES: 2,
      UPSTREAM_CONNECTIONS: 128,
      UPSTREAM_QUEUE: 500,
      MAX_UPSTREAM_WIDTH: 32,
      MAX_UPSTREAM_REQUESTS: 200,
      MAX_JSON_BYTES: 10_000_000,
      MAX_LOG_BYTES: 1_048_576,
      MAX_PAGE_SIZE: 500,
      MAX_DEPTH: 15,
      MAX_TOKENS: 4_000,
      MAX_ALIASES: 100,
      MAX_ROOT_FIELDS: 20,
      MAX_OPERATIONS: 256,
      MAX_BODY_BYTES: 256_000,
      CORS_ORIGINS: [],
      METRICS: true,
      DRAIN_TIMEOUT_MS: 25_000,
      LOG_LEVEL: "info",
    });
    expect(readConfig({})).not.toHaveProperty("UPSTREAM_URL");
    expect(readConfig({})).not.toHaveProperty("PUBLIC_URL");
    expect(readConfig({})).not.toHaveProperty("TRUSTED_DOCUMENTS");
  });

  test("that are empty count as not set", () => {
    const empty = Object.fromEntries(Object.keys(WRONG).map((name) => [name, ""]));
    expect(readConfig({ ...empty, HOST: "", PORT: " " })).toEqual(readConfig({}));
  });

  test("that nobody knows are passed over", () => {
    expect(readConfig({ PATH: "/bin", CANARY: "canary" })).toEqual(readConfig({}));
  });

  test("are read from text", () => {
    expect(
      readConfig({
        UPSTREAM_URL: "https://service.example:8443/prefix/",
        TYPE_NAMES: "Node=ClusterNode, Entity=Node",
        HOST: "::1",
        PORT: "0",
        GRAPHIQL: "off",
        UPSTREAM_RETRIES: "0",
        CORS_ORIGINS: "https://app.example, http://localhost:5173",
        LOG_LEVEL: "silent",
      }),
    ).toMatchObject({
      UPSTREAM_URL: new URL("https://service.example:8443/prefix/"),
      TYPE_NAMES: { Node: "ClusterNode", Entity: "Node" },
      HOST: "::1",
      PORT: 0,
      GRAPHIQL: false,
      INTROSPECTION: true,
      UPSTREAM_RETRIES: 0,
      CORS_ORIGINS: ["https://app.example", "http://localhost:5173"],
      LOG_LEVEL: "silent",
    });
  });

  const wrong = Object.entries(WRONG).flatMap(([name, texts]) => texts.map((text) => [name, text] as const));

  test.each(wrong)("%s cannot be %j: one line names it, and no line its value", (name, text) => {
    const faults = faultsOf({ [name]: text });
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name}: \\S`))]);
    // A short number can stand in the sentence for another reason: `expected number to be >0`.
    expect(faults.join("")).not.toContain(text.length > 3 ? text : "canary");
    expect(faults.join("")).not.toContain("canary");
  });

  test("are all in this table but one, which takes any text", () => {
    expect([...Object.keys(WRONG), "HOST"].toSorted()).toEqual(SETTINGS.toSorted());
  });

  test("that are missing are told beside those that are wrong", () => {
    expect(faultsOf({ NODE_ENV: "production", PORT: "canary" })).toEqual([
      expect.stringMatching(/^PORT: /),
      "UPSTREAM_URL: expected the address of the service (with NODE_ENV=production the demo starts only with DEMO=on)",
    ]);
  });

  test.each([
    { NODE_ENV: "production", DEMO: "on" },
    { NODE_ENV: "production", UPSTREAM_URL: "http://service.example" },
    { NODE_ENV: "development" },
    { NODE_ENV: "production", DEMO: "off", UPSTREAM_URL: "http://service.example" },
  ])("%j are enough to start", (environment) => {
    expect(faultsOf(environment)).toEqual([]);
  });

  test("that forbid the demo ask for a service", () => {
    expect(faultsOf({ DEMO: "off" })).toEqual([
      "UPSTREAM_URL: expected the address of the service (DEMO is off)",
    ]);
  });

  test.each([
    ["UPSTREM_URL", "UPSTREAM_URL"],
    ["UPSTREAM_URI", "UPSTREAM_URL"],
    ["upstream_url", "UPSTREAM_URL"],
    ["UPSTREAM_TIMEOUT", "UPSTREAM_TIMEOUT_MS"],
    ["CORS_ORIGIN", "CORS_ORIGINS"],
    ["LOGLEVEL", "LOG_LEVEL"],
    ["GRAPHQL", "GRAPHIQL"],
    ["MAX_UPSTREAM_REQUEST", "MAX_UPSTREAM_REQUESTS"],
  ])("%s is taken for %s misspelled", (given, meant) => {
    expect(findMisspelled({ [given]: "canary" })).toEqual([{ given, meant }]);
  });

  test("are not seen in the variables that any environment has", () => {
    const names = [
      ...SETTINGS,
      "PATH",
      "HOME",
      "HOSTNAME",
      "LOGNAME",
      "LANG",
      "PWD",
      "USER",
      "TERM",
      "NODE_ENV",
    ];
    names.push(
      "NODE_OPTIONS",
      "SHELL",
      "HTTP_PROXY",
      "http_proxy",
      "no_proxy",
      "CI",
      "DEBUG",
      "TMPDIR",
      "PORTS",
    );
    names.push("KUBERNETES_PORT", "UPSTREAM_SERVICE_HOST", "UPSTREAM_PORT", "RUNGRAPH_SERVICE_PORT");
    expect(findMisspelled(Object.fromEntries(names.map((name) => [name, "canary"])))).toEqual([]);
  });

  test("are complained about all at once", () => {
    const names = faultsOf(ALL_WRONG).map((line) => line.split(":")[0]);
    expect(names.toSorted()).toEqual(Object.keys(WRONG).toSorted());
  });
});

test.each(["", "/", "/prefix", "/prefix/", "/two/parts"])(
  "below a service at %j are its paths",
  async (prefix) => {
    const service = await startFake(() => ({ json: { id: 42, last_status: "running" } }));
    const gateway = await startGateway({ upstream: { url: service.url + prefix } });
    await gateway.ask(`{ experiment(id: "ada.mnist.42") { status } }`);
    expect(service.seen().map(({ path }) => path)).toEqual([
      `${prefix.replace(/\/$/, "")}/api/v1/ada/mnist/experiments/42/`,
    ]);
  },
);

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The gateway as a process of its own, with these variables and no deadlines; it ends with the test at the latest. */
function start(environment: Record<string, string>, ...options: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [...options, "--import", "tsx", "src/main.ts"], {
    cwd: ROOT,
    env: { ...NO_DEADLINES, PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  const ended = once(child, "close").then(([code]) => code as number | null);
  const told: (() => void)[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    said.out += chunk.toString();
    for (const tell of told) tell();
  });
  child.stderr?.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    ended,
    out: () => said.out,
    err: () => said.err,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** What it printed, once that matches. */
    printed: (expected: RegExp) =>
      Promise.race([
        new Promise<RegExpExecArray>((found) => {
          const look = () => {
            const match = expected.exec(said.out);
            if (match) found(match);
          };
          told.push(look);
          look();
        }),
        ended.then((code): never => {
          throw new Error(`it ended with ${code} before it had printed ${expected}: ${said.err}`);
        }),
      ]),
  };
}

/** A port that is taken until the test ends. */
async function takenPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

async function ask(url: string, token: string, query: string): Promise<Answer<unknown>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `token ${token}` },
    body: JSON.stringify({ query }),
  });
  return (await response.json()) as Answer<unknown>;
}

const READY = /Rungraph is ready: (http:\/\/\S+\/graphql)/;

describe("the gateway as a process", () => {
  test("with wrong settings names all of them, no value, and ends with code 2", async () => {
    const { ended, out, err } = start(ALL_WRONG);
    expect(await ended).toBe(2);
    expect(out()).toBe("");
    for (const name of Object.keys(WRONG)) expect(err()).toMatch(new RegExp(`^${name}: `, "m"));
    expect(err()).not.toContain("canary");
    expect(err()).not.toMatch(/^ {4}at /m);
  });

  test("without a service starts a demo, says how to get in, answers, and ends with code 0 on SIGTERM", async () => {
    const { printed, kill, ended } = start({ PORT: "0" });
    const [, url = ""] = await printed(READY);
    await printed(/^ {2}ada +password \S+/m);
    const [, token = ""] = await printed(/^ {2}Authorization: token (\S+)$/m);
    expect(await ask(url, token, "{ viewer { username } }")).toEqual({
      data: { viewer: { username: "ada" } },
    });
    expect(await ask(url, token, `{ experiment(id: "ada.mnist.42") { uniqueName } }`)).toEqual({
      data: { experiment: { uniqueName: "ada.mnist.42" } },
    });
    kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("with a service keeps the prefix of its address, and ends with code 0 on SIGINT", async () => {
    const service = await startFake(() => ({ json: { id: 42, last_status: "running" } }));
    const { printed, kill, ended, out } = start({ PORT: "0", UPSTREAM_URL: `${service.url}/prefix/` });
    const [, url = ""] = await printed(READY);
    expect(await ask(url, "t0ken", `{ experiment(id: "ada.mnist.42") { status } }`)).toEqual({
      data: { experiment: { status: "RUNNING" } },
    });
    expect(service.seen().map(({ path }) => path)).toEqual(["/prefix/api/v1/ada/mnist/experiments/42/"]);
    expect(out()).not.toMatch(/password|t0ken/);
    kill("SIGINT");
    expect(await ended).toBe(0);
  });

  test("says which setting was probably meant, and no value", async () => {
    const { ended, err } = start({ UPSTREM_URL: "http://canary.example", NODE_ENV: "production" });
    expect(await ended).toBe(2);
    expect(err().split("\n")).toEqual([
      "Warning: UPSTREM_URL is no setting and has no effect. Was UPSTREAM_URL meant?",
      "The settings cannot be used:",
      "UPSTREAM_URL: expected the address of the service (with NODE_ENV=production the demo starts only with DEMO=on)",
      "",
    ]);
  });

  test("starts a demo in production when it is asked for", async () => {
    const { printed, err } = start({ PORT: "0", NODE_ENV: "production", DEMO: "on" });
    await printed(/^ {2}ada +password \S+/m);
    expect(err()).toBe("");
  });

  test("offers the page and a query where they work", async () => {
    const { printed, out } = start({ PORT: "0" });
    await printed(/^ {4}-d '\{"query":/m);
    expect(out()).toContain("GraphiQL");
  });

  test.each([{ TRUSTED_DOCUMENTS: "schema/persisted-documents.json" }, { GRAPHIQL: "off" }])(
    "with %j offers no page",
    async (environment: Record<string, string>) => {
      const { printed, out } = start({ PORT: "0", ...environment });
      await printed(/^Only the documents of TRUSTED_DOCUMENTS|^ {4}-d /m);
      expect(out()).not.toContain("GraphiQL");
      expect(out().includes(`"query"`)).toBe(!("TRUSTED_DOCUMENTS" in environment));
    },
  );

  test("on all addresses names one that can be opened", async () => {
    const { printed } = start({ PORT: "0", HOST: "0.0.0.0" });
    const [, url = ""] = await printed(READY);
    expect(new URL(url).hostname).toBe("127.0.0.1");
  });

  test("starts while the service is out of reach, and warns without telling its address", async () => {
    const gateway = start({ PORT: "0", UPSTREAM_URL: "http://127.0.0.1:1/canary", UPSTREAM_RETRIES: "0" });
    const [, url = ""] = await gateway.printed(READY);
    await vi.waitUntil(() => gateway.err() !== "", PATIENT);
    expect(gateway.err()).toBe(
      "Warning: UPSTREAM_URL cannot be reached (ECONNREFUSED). Until it can, answers are UPSTREAM_UNAVAILABLE.\n",
    );
    expect(await ask(url, "t0ken", "{ viewer { username } }")).toMatchObject({
      errors: [{ extensions: { code: "UPSTREAM_UNAVAILABLE" } }],
    });
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });

  test("does not warn of a service that can be reached, and sends it nothing at the start", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { printed, err, kill, ended } = start({ PORT: "0", UPSTREAM_URL: service.url });
    const [, url = ""] = await printed(READY);
    await ask(url, "t0ken", "{ viewer { username } }");
    expect(service.seen()).toHaveLength(1);
    kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(err()).toBe("");
  });

  /** Tells of each module below this name that is loaded. */
  const tellLoads = (name: string) =>
    `data:text/javascript,${encodeURIComponent(`import { register } from "node:module";
      register("data:text/javascript," + encodeURIComponent(\`export function load(url, context, next) {
        if (url.includes("${name}")) process._rawDebug("loaded");
        return next(url, context);
      }\`));`)}`;

  test("loads GraphiQL when somebody opens the page, once", async () => {
    const { printed, err } = start({ PORT: "0" }, "--import", tellLoads("render-graphiql"));
    const [, url = ""] = await printed(READY);
    await ask(url, "t0ken", "{ __typename }");
    expect(err()).toBe("");
    const open = async () => (await fetch(url, { headers: { accept: "text/html" } })).text();
    await Promise.all([open(), open()]);
    expect(await open()).toContain("<title>Rungraph</title>");
    await vi.waitUntil(() => err() !== "", PATIENT);
    expect(err()).toBe("loaded\n");
  });

  test("on a port that is taken says so and ends with code 1", async () => {
    const port = await takenPort();
    const { ended, err, out } = start({ PORT: port, UPSTREAM_URL: "http://127.0.0.1:1" });
    expect(await ended).toBe(1);
    expect(err()).toContain(`Cannot listen on HOST 127.0.0.1, PORT ${port}: EADDRINUSE`);
    expect(out()).not.toContain("ready");
  });

  /** Hands the server an error of accept(2) at each SIGUSR2, as libuv does: `-24` is EMFILE. */
  const FAILING_ACCEPT = `data:text/javascript,
    import { Server } from "node:net";
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...given) {
      process.on("SIGUSR2", () => this._handle.onconnection(-24));
      return listen.apply(this, given);
    };`;

  test("outlives connections that cannot be accepted, and logs their code only", async () => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { printed, err, kill, ended } = start(
      { PORT: "0", UPSTREAM_URL: service.url },
      "--import",
      FAILING_ACCEPT.replaceAll(/\s+/g, " "),
    );
    const [, url = ""] = await printed(READY);
    for (const times of [1, 2]) {
      kill("SIGUSR2");
      await printed(new RegExp(`(?:"code":"EMFILE","msg":"a connection was not accepted"[^]*){${times}}`));
      expect(await ask(url, "t0ken", "{ viewer { username } }")).toEqual({
        data: { viewer: { username: "ada" } },
      });
    }
    expect(err()).not.toContain("Cannot listen");
    kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("outlives callers who leave, and a service that breaks off, in the middle of an answer", async () => {
    let breakOff = (): void => {};
    const service = await listen((_, response) => {
      response.writeHead(200, { "content-length": 5_000 });
      response.write("line 1\n");
      breakOff = () => response.destroy();
    });
    const gateway = start({ PORT: "0", UPSTREAM_URL: service });
    const [, url = ""] = await gateway.printed(READY);
    const id = globalId("Experiment:ada/mnist/42");
    /** Opens a download and gives its reader, which has read the first bytes. */
    const openLog = async (signal: AbortSignal) => {
      const response = await fetch(new URL(`/downloads/${id}/logs`, url), {
        headers: { authorization: "token t0ken" },
        signal,
      });
      const reader = response.body?.getReader();
      await reader?.read();
      return reader;
    };
    const leaving = new AbortController();
    await openLog(leaving.signal);
    leaving.abort();
    const reader = await openLog(new AbortController().signal);
    breakOff();
    await expect(reader?.read()).rejects.toThrow("terminated");
    expect(await ask(url, "t0ken", "{ gateway { upstreamApiVersion } }")).toEqual({
      data: { gateway: { upstreamApiVersion: "v1" } },
    });
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(gateway.err()).not.toMatch(/^ {4}at |unexpected/im);
  });
});
