import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { bombOf } from "../support/faults.ts";
import { type RawExchange, type RawService, startRawService, wireOf } from "../support/framing.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { type Answer, type Gateway, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { begin, readFast, readOn } from "../support/readers.ts";

const RECORD = { id: 42, last_status: "running" };
const READ = `{ experiment(id: "ada.mnist.42") { status } }`;
const RUNNING = { data: { experiment: { status: "RUNNING" } } };
const EXPERIMENT = globalId("Experiment:ada/mnist/42");
const OUTPUTS = `/downloads/${EXPERIMENT}/outputs`;

/** How long something that must come about is waited for. */
const AWHILE = { timeout: 10_000, interval: 2 };

/** `ok`, or the code of the first error. */
const codeOf = ({ errors }: Answer<unknown>): string =>
  errors ? String(errors[0]?.extensions["code"]) : "ok";

const ask = async (gateway: Gateway, query = READ, token = "t0ken"): Promise<Answer<unknown>> =>
  gateway.ask(query, {}, { token });

const experiment = (id: number) => `{ experiment(id: "ada.mnist.${id}") { status } }`;
const idIn = (path = "") => Number(/experiments\/(\d+)/.exec(path)?.[1]);

/** Waits until a figure does not change any more while the gateway takes turns of its loop. */
async function settled(gateway: Gateway, figure: () => number): Promise<number> {
  for (let before = -1; before !== figure();) {
    before = figure();
    for (let turn = 0; turn < 10; turn++) await (await fetch(`${gateway.url}/healthz`)).text();
  }
  return figure();
}

/** A service over plain sockets, closed when the test ends. */
async function startRaw(answer: (exchange: RawExchange) => unknown): Promise<RawService> {
  const service = await startRawService(answer);
  onTestFinished(() => service.close());
  return service;
}

/** A service that holds each request until it is told to answer that one. */
async function startHolding() {
  const held: { readonly token: string; readonly id: number; readonly response: ServerResponse }[] = [];
  /** All that came so far, by the token that asked. */
  const seen: string[] = [];
  const url = await listen((request, response) => {
    const token = `${request.headers.authorization}`.replace("token ", "");
    seen.push(token);
    held.push({ token, id: idIn(request.url), response });
  });
  const release = (count = held.length) => {
    for (const { id, response } of held.splice(0, count)) {
      response.setHeader("content-type", "application/json").end(JSON.stringify({ ...RECORD, id }));
    }
  };
  return {
    url,
    seen: () => seen,
    count: () => held.length,
    arrived: (count: number) => vi.waitUntil(() => held.length >= count, AWHILE),
    release,
    /** Answers what comes, until all of these are fulfilled. */
    releaseUntil: async <Value>(all: readonly Promise<Value>[]): Promise<Value[]> => {
      const timer = setInterval(release, 1);
      return Promise.all(all).finally(() => clearInterval(timer));
    },
  };
}

async function metricOf(gateway: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

describe("an encoding that is none of those that are known", () => {
  const sevenfold = () => {
    let body = Buffer.from(JSON.stringify(RECORD));
    for (let fold = 0; fold < 7; fold++) body = gzipSync(body);
    return body;
  };

  /** A service whose next answers, as long as it is told so, are in this encoding. */
  async function startEncoding(encoding: string) {
    let isOdd = true;
    const body = encoding.includes(",") ? sevenfold() : Buffer.from(JSON.stringify(RECORD));
    const service = await startFake(() =>
      isOdd ? { text: body, headers: { "content-encoding": encoding } } : { json: RECORD },
    );
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "4", UPSTREAM_QUEUE: "20", REQUEST_TIMEOUT_MS: "5000" },
    });
    return { gateway, heal: () => void (isOdd = false) };
  }

  test.each([
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "gzip, gzip, gzip, gzip, gzip, gzip, gzip",
    "martian",
    "gzip, martian",
  ])("(%s) is a bad answer, and ten of them cost no place", async (encoding) => {
    const { gateway, heal } = await startEncoding(encoding);
    const queries = Array.from({ length: 10 }, (_, id) => experiment(id + 1));
    const answers = await Promise.all(queries.map((query) => ask(gateway, query)));
    expect(answers.map(codeOf)).toEqual(queries.map(() => "UPSTREAM_BAD_RESPONSE"));
    heal();
    expect(await ask(gateway)).toEqual(RUNNING);
    expect(await metricOf(gateway, "rungraph_exchanges_running")).toBe(0);
  });

  test("of a log is a bad answer, and ten of them cost no place", async () => {
    const { gateway, heal } = await startEncoding("constructor");
    const queries = Array.from(
      { length: 10 },
      (_, id) => `{ experiment(id: "ada.mnist.${id + 1}") { logs { text } } }`,
    );
    const answers = await Promise.all(queries.map((query) => ask(gateway, query)));
    expect(answers.map(codeOf)).toEqual(queries.map(() => "UPSTREAM_BAD_RESPONSE"));
    heal();
    expect(await ask(gateway)).toEqual(RUNNING);
  });

  test("of a download is a bad answer, and ten of them cost no place", async () => {
    const { gateway, heal } = await startEncoding("constructor");
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), AWHILE.timeout);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () =>
        fetch(`${gateway.url}${OUTPUTS}`, {
          headers: { authorization: "token t0ken" },
          signal: over.signal,
        }).then(
          ({ status }) => status,
          () => "no answer",
        ),
      ),
    );
    clearTimeout(timer);
    expect(new Set(statuses)).toEqual(new Set([502]));
    heal();
    expect(await ask(gateway)).toEqual(RUNNING);
    expect(await readFast(gateway.url, { path: OUTPUTS })).toMatchObject({ status: 200, isWhole: true });
  });

  test.each(["identity", "GZIP", "gzip, gzip"])("is another than %s", async (encoding) => {
    const folds = encoding.split(",").filter((name) => /gzip/i.test(name)).length;
    let body = Buffer.from(JSON.stringify(RECORD));
    for (let fold = 0; fold < folds; fold++) body = gzipSync(body);
    const service = await startFake(() => ({ text: body, headers: { "content-encoding": encoding } }));
    expect(await ask(await startGateway({ upstream: service }))).toEqual(RUNNING);
  });
});

describe("many requests on one connection that is closed", () => {
  /** Sends them all at once, without waiting for answers; gives how to leave. */
  function pipeline(gateway: Gateway, request: string, times = 400): () => void {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).resume();
    socket.write(request.repeat(times));
    return () => socket.destroy();
  }

  test("leave no download behind: no connection to the service stays open", async () => {
    let isLong = true;
    const half = { framing: "content-length", encoding: "none", connection: "kept" } as const;
    const service = await startRaw(({ send }) =>
      send(wireOf(half, Buffer.from("half and half"), isLong ? "held" : null)),
    );
    const gateway = await startGateway({ upstream: service });
    const leave = pipeline(
      gateway,
      `GET ${OUTPUTS} HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n\r\n`,
    );
    // So many are not waited for: the gateway ends the connection itself.
    await settled(gateway, () => service.seen().length);
    await vi.waitUntil(() => service.busy() === 0, AWHILE);
    leave();
    // MAX_DOWNLOADS_PER_TOKEN, at its default.
    expect(service.connections()).toBeLessThanOrEqual(16);
    isLong = false;
    const received = await readFast(gateway.url, { path: OUTPUTS });
    expect(received?.body.toString()).toBe("half and half");
  });

  const body = JSON.stringify({ query: READ });
  const head = "HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n";
  const requests = {
    POST: `POST /graphql ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    GET: `GET /graphql?${new URLSearchParams({ query: READ }).toString()} ${head}\r\n`,
  };

  test.each(Object.entries(requests))(
    "leave no operation behind: all places of %ss are free",
    async (_, request) => {
      const service = await startHolding();
      const gateway = await startGateway({ upstream: service, env: { MAX_OPERATIONS: "4" } });
      const leave = pipeline(gateway, request, 30);
      await service.arrived(1);
      await settled(gateway, service.count);
      leave();
      const fourCodes = async () => {
        const answers = await Promise.all([1, 2, 3, 4].map((id) => ask(gateway, experiment(id))));
        return answers.map(codeOf);
      };
      const codes = vi.waitFor(
        async () => expect(await fourCodes()).toEqual(["ok", "ok", "ok", "ok"]),
        AWHILE,
      );
      await service.releaseUntil([codes]);
      expect(await metricOf(gateway, "rungraph_exchanges_running")).toBe(0);
    },
  );
});

const COMMANDS = {
  "a stop": `mutation { it: stopExperiment(id: "ada.mnist.42") { experiment { id } } }`,
  "an update": `mutation { it: updateExperiment(id: "ada.mnist.42", input: { description: "x" }) { experiment { id } } }`,
  "a deletion": `mutation { it: deleteExperiment(id: "ada.mnist.42") { __typename } }`,
  "a login": `mutation { it: login(input: { username: "ada", password: "x" }) { token } }`,
};
const READS = {
  "a record": `{ it: experiment(id: "ada.mnist.42") { status } }`,
  "a log": `{ it: experiment(id: "ada.mnist.42") { logs { text } } }`,
};
const EVERYTHING = { ...COMMANDS, ...READS };

/** What an operation comes to when the service answers with these bytes: its error and outcome, or `ok`. */
async function answeredBy(bytes: string, query: string): Promise<string> {
  const service = await startRaw(({ write, socket }) => {
    write(bytes);
    if (!bytes.includes("Content-Length: ")) socket.end();
  });
  const gateway = await startGateway({ upstream: service, env: { REQUEST_TIMEOUT_MS: "8000" } });
  const { errors = [] } = await ask(gateway, query);
  expect(service.seen()).toHaveLength(1);
  return errors.map(({ extensions: { code, outcome } }) => `${code} ${outcome ?? ""}`.trim()).join() || "ok";
}

describe("an informational answer", () => {
  const body = JSON.stringify({ ...RECORD, token: "n3w" });
  const final = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const informational = {
    102: "HTTP/1.1 102 Processing\r\n\r\n",
    103: "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
    "103, three times over": "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3),
    199: "HTTP/1.1 199 Whatever\r\n\r\n",
  };
  const cases = Object.entries(informational).flatMap(([name, bytes]) =>
    Object.entries(EVERYTHING).map(([what, query]) => [name, what, bytes, query] as const),
  );

  test.each(cases)("(%s) in front of the answer to %s is passed over", async (_name, _what, bytes, query) => {
    expect(await answeredBy(bytes + final, query)).toBe("ok");
  });

  // undici takes a 100 that nobody asked for as the end of the connection.
  test.each(Object.entries(COMMANDS))("(100, unasked) leaves the outcome of %s unknown", async (_, query) => {
    const unasked = "HTTP/1.1 100 Continue\r\n\r\n";
    expect(await answeredBy(unasked + final, query)).toBe("UPSTREAM_UNAVAILABLE unknown");
  });
});

describe("an answer that cannot be understood", () => {
  const nothing = "Content-Length: 0\r\n\r\n";
  const answers = {
    "status 000": `HTTP/1.1 000 None\r\n${nothing}`,
    "status 99": `HTTP/1.1 99 None\r\n${nothing}`,
    "status 099": `HTTP/1.1 099 None\r\n${nothing}`,
    "status 600": `HTTP/1.1 600 None\r\n${nothing}`,
    "status 999": `HTTP/1.1 999 None\r\n${nothing}`,
    "status abc": `HTTP/1.1 abc\r\n${nothing}`,
    "status 101, unasked": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "only a 103": "HTTP/1.1 103 Early Hints\r\n\r\n",
    "no HTTP": "SSH-2.0-OpenSSH_9.6\r\n",
    "no status line": `\r\n\r\n${nothing}`,
    "nothing at all": "",
    "half of a head": "HTTP/1.1 200 OK\r\nContent-Ty",
    "headers of 100 kB": `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(100_000)}\r\n${nothing}`,
    "a header that is none": `HTTP/1.1 200 OK\r\nno header\r\n${nothing}`,
    "a zero byte in a header": `HTTP/1.1 200 OK\r\nX-Zero: \0\r\n${nothing}`,
    "a length that is none": "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    "two lengths": `HTTP/1.1 200 OK\r\nContent-Length: 1\r\n${nothing}`,
  };
  const told = (names: Readonly<Record<string, string>>) =>
    Object.entries(answers).flatMap(([name, bytes]) =>
      Object.entries(names).map(([what, query]) => [name, what, bytes, query] as const),
    );

  test.each(told(COMMANDS))(
    "(%s) to %s leaves its outcome unknown, and is no fault of the gateway",
    async (_name, _what, bytes, query) => {
      expect(await answeredBy(bytes, query)).toMatch(/^UPSTREAM_(?:BAD_RESPONSE|UNAVAILABLE|ERROR) unknown$/);
    },
  );

  test.each(told(READS))(
    "(%s) to the request for %s is an error of the service",
    async (_name, _what, bytes, query) => {
      expect(await answeredBy(bytes, query)).toMatch(/^UPSTREAM_(?:BAD_RESPONSE|UNAVAILABLE|ERROR)$/);
    },
  );
});

describe("callers who take nothing of a long answer", () => {
  /** Longer than what the system keeps for a connection that nobody reads. */
  const description = "x".repeat(9_000_000);
  const long = READ.replace("status", "description");

  async function startLong(env: Record<string, string>) {
    const service = await startFake(({ path }) => ({
      json: { ...RECORD, id: idIn(path), description: idIn(path) === 42 ? description : "short" },
    }));
    const gateway = await startGateway({ upstream: service, env });
    const dawdle = () => {
      const sent = begin(gateway.url, { path: "/graphql", graphql: long });
      onTestFinished(() => void sent.destroy());
      const response = new Promise<Parameters<typeof readOn>[0] | null>((resolve) => {
        sent.once("response", resolve).once("close", () => resolve(null));
      });
      return { sent, response };
    };
    return { service, gateway, dawdle };
  }

  test("hold no operation's place, and get all of it once they read on", async () => {
    const { service, gateway, dawdle } = await startLong({
      MAX_OPERATIONS: "16",
      MAX_WAITING_BYTES: "400000000",
      READ_TIMEOUT_MS: "600000",
    });
    const dawdlers = Array.from({ length: 16 }, dawdle);
    await vi.waitUntil(() => service.seen().length === 16, AWHILE);
    await vi.waitUntil(async () => codeOf(await ask(gateway, experiment(1))) === "ok", AWHILE);
    for (const { response } of dawdlers) {
      const answer = await response;
      expect(answer?.statusCode).toBe(200);
      const { body, isWhole } = answer ? await readOn(answer) : { body: Buffer.alloc(0), isWhole: false };
      expect(isWhole && body.length > description.length).toBe(true);
    }
  });

  test("are let go when more than MAX_WAITING_BYTES waits for them all", async () => {
    const { gateway, dawdle } = await startLong({
      MAX_OPERATIONS: "16",
      MAX_WAITING_BYTES: "20000000",
      READ_TIMEOUT_MS: "600000",
    });
    const answers = await Promise.all(Array.from({ length: 6 }, dawdle).map(({ response }) => response));
    const read = await Promise.all(answers.map((answer) => answer && readOn(answer)));
    const whole = read.filter((each) => each?.isWhole).length;
    // Two answers fit, beside what the system's buffers hold.
    expect(whole).toBeGreaterThan(0);
    expect(whole).toBeLessThan(6);
    await vi.waitFor(async () => expect(codeOf(await ask(gateway, experiment(1)))).toBe("ok"), AWHILE);
  });
});

describe("callers who leave", () => {
  test("while their upstream requests wait for a connection free the queue", async () => {
    const service = await startHolding();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "3" },
    });
    const first = ask(gateway, experiment(1));
    await service.arrived(1);
    const waiting = () => metricOf(gateway, "rungraph_exchanges_waiting");
    const leavers = [2, 3, 4].map((id) => begin(gateway.url, { path: "/graphql", graphql: experiment(id) }));
    await vi.waitUntil(async () => (await waiting()) === 3, AWHILE);
    for (const leaver of leavers) leaver.destroy();
    await vi.waitUntil(async () => (await waiting()) === 0, AWHILE);
    const others = [5, 6, 7].map((id) => ask(gateway, experiment(id)));
    await vi.waitUntil(async () => (await waiting()) === 3, AWHILE);
    const answers = await service.releaseUntil([first, ...others]);
    expect(answers.map(codeOf)).toEqual(["ok", "ok", "ok", "ok"]);
    expect(service.seen()).toHaveLength(4);
  });

  test("while one operation's requests wait for each other free the queue", async () => {
    const service = await startHolding();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "8" },
    });
    const nine = Array.from(
      { length: 9 },
      (_, id) => `e${id}: experiment(id: "ada.mnist.${id + 1}") { status }`,
    );
    const leaver = begin(gateway.url, { path: "/graphql", graphql: `{ ${nine.join(" ")} }` });
    const waiting = () => metricOf(gateway, "rungraph_exchanges_waiting");
    await vi.waitUntil(async () => (await waiting()) === 8, AWHILE);
    leaver.destroy();
    await vi.waitUntil(async () => (await waiting()) === 0, AWHILE);
    const [answer] = await service.releaseUntil([ask(gateway)]);
    expect(answer).toEqual(RUNNING);
  });

  test("while the service asks to be left alone free their place", async () => {
    const service = await startFake(({ path }) =>
      idIn(path) === 1
        ? { json: { detail: "slow down" }, status: 429, headers: { "retry-after": "25" } }
        : { json: RECORD },
    );
    const gateway = await startGateway({ upstream: service, env: { MAX_OPERATIONS: "1" } });
    const leaver = begin(gateway.url, { path: "/graphql", graphql: experiment(1) });
    await vi.waitUntil(() => service.seen().length === 1, AWHILE);
    leaver.destroy();
    await vi.waitFor(async () => expect(await ask(gateway)).toEqual(RUNNING), AWHILE);
  });

  test("and requests whose time is over end the pause before the next try", async () => {
    const service = await startFake(({ path }) => ({
      text: "",
      status: 503,
      headers: { "retry-after": `${idIn(path)}` },
    }));
    const gatewayFor = (REQUEST_TIMEOUT_MS: string) =>
      startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "1", REQUEST_TIMEOUT_MS } });
    const [patient, short] = [await gatewayFor("30000"), await gatewayFor("50")];
    // The one with time pauses for a second. The other would pause for two, and has no time for either.
    const order: string[] = [];
    const ended = (name: string) => () => void order.push(name);
    await Promise.all([
      ask(patient, experiment(1)).then(ended("whose pause was over")),
      ask(short, experiment(2)).then(ended("whose time was over")),
    ]);
    expect(order).toEqual(["whose time was over", "whose pause was over"]);
    expect(service.seen()).toHaveLength(3);
  });
});

describe("what one caller asks for changes nothing for another", () => {
  const entitiesOf = (...names: readonly string[]) =>
    `{ entities(ids: ${JSON.stringify(names.map(globalId))}) { ... on Run { rawStatus } } }`;
  const KINDS = { Experiment: "experiments", Job: "jobs", BuildJob: "builds", Group: "groups" };
  const LONG_ID = "999999999999999999";

  /** A service like 0.4: names with dots fit none of its routes, numbers that are too long none of its columns. */
  async function startLists() {
    const service = await startFake(({ path, headers }) => {
      const { pathname, searchParams } = new URL(path, "http://service");
      if (!/^\/api\/v1\/[-\w]+\/[-\w]+\/\w+(?:\/\d+\/)?$/.test(pathname))
        return { text: "<h1>Not Found</h1>", status: 404, headers: { "content-type": "text/html" } };
      if (headers["authorization"] !== "token g00d")
        return { json: { detail: "Invalid token." }, status: 403 };
      if (path.includes(LONG_ID)) return { json: ["value out of range"], status: 400 };
      const ids = searchParams.get("query")?.replace("id:", "").split("|");
      const rows = ids?.map((each) => ({ id: Number(each), last_status: "running" }));
      return { json: rows ? { count: rows.length, next: null, results: rows } : RECORD };
    });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    return { service, gateway };
  }

  /** The requests that another caller causes before and after this one asked for two of the same kind. */
  async function beforeAndAfter(
    [kind, list]: readonly [string, string],
    { names, token }: { readonly names: readonly string[]; readonly token: string },
  ) {
    const { service, gateway } = await startLists();
    const asked = async () => {
      const answer = await ask(gateway, entitiesOf(`${kind}:ada/mnist/1`, `${kind}:ada/mnist/2`), "g00d");
      expect(codeOf(answer)).toBe("ok");
      return service
        .seen()
        .splice(0)
        .map(({ path }) => decodeURIComponent(path.replace("/api/v1/", "")));
    };
    const before = await asked();
    await ask(gateway, entitiesOf(...names.map((name) => `${kind}:${name}`)), token);
    expect(service.seen().splice(0).length).toBeGreaterThan(0);
    expect(before).toEqual([`ada/mnist/${list}?query=id:1|2&limit=100`]);
    return { before, after: await asked() };
  }

  test.each(Object.entries(KINDS))(
    "%s of an owner that cannot be, with an invalid token",
    async (...kind) => {
      const names = ["no.such/mnist/1", "no.such/mnist/2"];
      const { before, after } = await beforeAndAfter(kind, { names, token: "invalid" });
      expect(after).toEqual(before);
    },
  );

  test.each(Object.entries(KINDS))("%s of a number that cannot be", async (...kind) => {
    const names = ["ada/mnist/1", `ada/mnist/${LONG_ID}`];
    const { before, after } = await beforeAndAfter(kind, { names, token: "g00d" });
    expect(after).toEqual(before);
  });
});

describe("one token beside another", () => {
  const answersTo = (
    gateway: Gateway,
    { token, from, count }: { readonly token: string; readonly from: number; readonly count: number },
  ) => Array.from({ length: count }, (_, turn) => ask(gateway, experiment(from + turn), token));

  const waiting = (gateway: Gateway, count: number) =>
    vi.waitUntil(async () => (await metricOf(gateway, "rungraph_exchanges_waiting")) === count, AWHILE);

  test("is served next but one, however many requests of the other wait", async () => {
    const service = await startHolding();
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "2" } });
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 20 });
    await waiting(gateway, 18);
    const light = ask(gateway, experiment(100), "light");
    await waiting(gateway, 19);
    for (let turn = 0; turn < 2; turn++) {
      service.release(1);
      await service.arrived(2);
    }
    expect(service.seen().slice(0, 2)).toEqual(["heavy", "heavy"]);
    expect(service.seen().slice(2, 4)).toContain("light");
    const answers = await service.releaseUntil([light, ...heavy]);
    expect(new Set(answers.map(codeOf))).toEqual(new Set(["ok"]));
  });

  test("is served next but one, however many requests one operation of the other has", async () => {
    const service = await startHolding();
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "2" } });
    const fields = Array.from(
      { length: 20 },
      (_, turn) => `e${turn}: experiment(id: "ada.mnist.${turn + 1}") { status }`,
    );
    const heavy = ask(gateway, `{ ${fields.join(" ")} }`, "heavy");
    await waiting(gateway, 18);
    const light = ask(gateway, experiment(100), "light");
    await waiting(gateway, 19);
    for (let turn = 0; turn < 2; turn++) {
      service.release(1);
      await service.arrived(2);
    }
    expect(service.seen().slice(2, 4)).toContain("light");
    expect((await service.releaseUntil([light, heavy])).map(codeOf)).toEqual(["ok", "ok"]);
  });

  test("finds a place in the queue, although the other would fill it", async () => {
    const service = await startHolding();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "4" },
    });
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 20 });
    await vi.waitUntil(async () => (await metricOf(gateway, "rungraph_exchanges_shed")) > 0, AWHILE);
    const light = ask(gateway, experiment(100), "light");
    const [answer, ...others] = await service.releaseUntil([light, ...heavy]);
    expect(answer).toEqual(RUNNING);
    expect(new Set(others.map(codeOf))).toEqual(new Set(["ok", "SERVICE_OVERLOADED"]));
  });

  test("takes turns with two others", async () => {
    const service = await startHolding();
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "1" } });
    const first = ask(gateway, experiment(1), "a");
    await service.arrived(1);
    const answers = [first];
    for (const [turn, token] of ["a", "b", "c"].entries()) {
      answers.push(...answersTo(gateway, { token, from: 10 * turn + 2, count: 4 }));
      await waiting(gateway, 4 * (turn + 1));
    }
    await service.releaseUntil(answers);
    const rounds = [1, 4, 7, 10].map((from) =>
      service
        .seen()
        .slice(from, from + 3)
        .toSorted()
        .join(""),
    );
    expect(rounds).toEqual(["abc", "abc", "abc", "abc"]);
  });

  test("finds a connection, although the other has more to ask than there are: it has a share of them", async () => {
    const service = await startHolding();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "4", UPSTREAM_CONNECTIONS_PER_TOKEN: "3" },
    });
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 10 });
    await waiting(gateway, 7);
    expect(service.seen()).toEqual(["heavy", "heavy", "heavy"]);
    const light = ask(gateway, experiment(100), "light");
    await service.arrived(4);
    expect(service.seen()).toEqual(["heavy", "heavy", "heavy", "light"]);
    const answers = await service.releaseUntil([light, ...heavy]);
    expect(new Set(answers.map(codeOf))).toEqual(new Set(["ok"]));
  });

  const post = (gateway: Gateway, token: string, query = READ) =>
    fetch(`${gateway.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body: JSON.stringify({ query }),
    });

  test("starts an operation, although the other has had its share of them and is refused before anything is sent", async () => {
    const service = await startHolding();
    const gateway = await startGateway({ upstream: service, env: { MAX_OPERATIONS_PER_TOKEN: "2" } });
    const heavy = answersTo(gateway, { token: "heavy", from: 1, count: 2 });
    await service.arrived(2);
    const third = post(gateway, "heavy", experiment(3));
    await Promise.race([third, service.arrived(3)]);
    expect(service.seen()).toEqual(["heavy", "heavy"]);
    const refused = await third;
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      errors: [{ extensions: { code: "RATE_LIMITED", retryAfterSeconds: expect.any(Number) as number } }],
    });
    const light = ask(gateway, experiment(100), "light");
    await service.arrived(3);
    expect((await service.releaseUntil([...heavy, light])).map(codeOf)).toEqual(["ok", "ok", "ok"]);
    const [again] = await service.releaseUntil([ask(gateway, READ, "heavy")]);
    expect(again).toEqual(RUNNING);
  });

  test("starts a download, although the other has had its share of them", async () => {
    const held: ServerResponse[] = [];
    const url = await listen((_, response) => {
      response.writeHead(200).write("begun ");
      held.push(response);
    });
    const gateway = await startGateway({
      upstream: { url },
      env: { MAX_DOWNLOADS: "3", MAX_DOWNLOADS_PER_TOKEN: "2" },
    });
    const download = (token: string) =>
      fetch(`${gateway.url}${OUTPUTS}`, { headers: { authorization: `token ${token}` } });
    const heavy = [await download("heavy"), await download("heavy")];
    const refused = await download("heavy");
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      errors: [{ extensions: { code: "RATE_LIMITED", retryAfterSeconds: expect.any(Number) as number } }],
    });
    const light = await download("light");
    expect(light.status).toBe(200);
    const shed = await download("another");
    expect(shed.status).toBe(503);
    expect(await shed.json()).toMatchObject({ errors: [{ extensions: { code: "SERVICE_OVERLOADED" } }] });
    expect(held).toHaveLength(3);
    for (const response of held) response.end("and ended");
    for (const response of [...heavy, light]) expect(await response.text()).toBe("begun and ended");
    const next = download("heavy");
    await vi.waitUntil(() => held.length === 4, AWHILE);
    held[3]?.end("and ended");
    expect(await (await next).text()).toBe("begun and ended");
  });
});

describe.skipIf(process.platform !== "linux")("an answer that inflates to 200 MB", () => {
  const bombs = {
    gzip: () => bombOf(200),
    "gzip, gzip": async () => promisify(gzip)(await bombOf(200)),
    br: () =>
      promisify(brotliCompress)(Buffer.alloc(200_000_000, " "), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
      }),
  };
  const right = wireOf(
    { framing: "content-length", encoding: "none", connection: "kept" },
    Buffer.from(JSON.stringify(RECORD)),
  );
  let wire = right;
  let service: RawService;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    service = await startRawService(({ send }) => send(wire));
    gateway = await startGatewayProcess(service.url);
  });
  afterAll(async () => {
    await gateway.kill();
    await service.close();
  });

  const codeNow = async () => {
    const received = await readFast(gateway.url, { path: "/graphql", graphql: READ });
    return codeOf(JSON.parse(received?.body.toString() ?? "null") as Answer<unknown>);
  };
  /** The most memory that the gateway ever had, in bytes. */
  const peak = () =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) * 1_000;

  test.each(Object.entries(bombs))("(%s) is refused without being inflated whole", async (encoding, make) => {
    wire = right;
    for (let turn = 0; turn < 10; turn++) expect(await codeNow()).toBe("ok");
    const before = peak();
    wire = wireOf({ framing: "content-length", encoding, connection: "kept" }, await make());
    for (let turn = 0; turn < 3; turn++) expect(await codeNow()).toBe("UPSTREAM_BAD_RESPONSE");
    expect(peak() - before).toBeLessThan(100_000_000);
    wire = right;
    expect(await codeNow()).toBe("ok");
  });
});

test("a caller's operations hold no more of the service's answers than MAX_UPSTREAM_BYTES, and keep what they have", async () => {
  const service = await startFake(({ path }) => ({
    json: { ...RECORD, id: idIn(path), description: "x".repeat(50_000) },
  }));
  const gateway = await startGateway({
    upstream: service,
    env: { MAX_UPSTREAM_BYTES: "110000", MAX_UPSTREAM_WIDTH: "1" },
  });
  const aliases = [1, 2, 3, 4].map((id) => `e${id}: experiment(id: "ada.mnist.${id}") { status }`);
  const { data, errors } = await ask(gateway, `{ ${aliases.join(" ")} }`);
  const running = { status: "RUNNING" };
  expect(data).toEqual({ e1: running, e2: running, e3: null, e4: null });
  expect(errors?.map(({ path, extensions }) => [path?.[0], extensions["code"]])).toEqual([
    ["e3", "REQUEST_LIMIT_EXCEEDED"],
    ["e4", "REQUEST_LIMIT_EXCEEDED"],
  ]);
  // The third is refused while it comes, the fourth is not asked for.
  expect(service.calls()).toEqual([1, 2, 3].map((id) => `GET ada/mnist/experiments/${id}/`));
});

describe("what one caller does to the others", () => {
  const failing = () =>
    startFake(({ path }) =>
      idIn(path) === 1 ? { text: "", status: 504 } : { json: { ...RECORD, id: idIn(path) } },
    );

  test("a record that fails for one token opens no circuit, while other tokens are answered", async () => {
    const gateway = await startGateway({ upstream: await failing() });
    expect(await ask(gateway, experiment(42), "other")).toEqual(RUNNING);
    for (let turn = 0; turn < 30; turn++) {
      expect(codeOf(await ask(gateway, experiment(1), "one"))).toBe("UPSTREAM_UNAVAILABLE");
    }
    expect(await ask(gateway, experiment(42), "other")).toEqual(RUNNING);
    expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(0);
  });

  test("a service that fails for all who ask opens it, be it one token or several", async () => {
    for (const tokens of [["one"], ["one", "two"]]) {
      const gateway = await startGateway({ upstream: await failing() });
      for (let turn = 0; turn < 20; turn++) await ask(gateway, experiment(1), tokens[turn % tokens.length]);
      expect(await metricOf(gateway, "rungraph_circuit_open")).toBe(1);
    }
  });

  test("bodies that never end fill half of what may wait, and no body behind them is refused that is short", async () => {
    const gateway = await startGateway({
      upstream: await startFake(() => ({ json: RECORD })),
      env: { MAX_WAITING_BYTES: "200000", MAX_BODY_BYTES: "60000" },
    });
    const { port } = new URL(gateway.url);
    const begun = Array.from({ length: 4 }, () => {
      const socket = connect(Number(port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      let received = "";
      socket.on("error", () => {}).on("data", (piece: Buffer) => (received += piece.toString()));
      socket.write(
        `POST /graphql HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: 50000\r\n\r\n${" ".repeat(40_000)}`,
      );
      return () => received;
    });
    const refused = () => begun.filter((received) => received().startsWith("HTTP/1.1 503")).length;
    await vi.waitUntil(() => refused() === 2, AWHILE);
    // The two others wait, with 80 kB of the 100 that one address may have.
    expect(await ask(gateway)).toEqual(RUNNING);
  });

  test("a command whose answer never ends holds its connection for a moment only", async () => {
    const service = await startRaw(({ write }) =>
      write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    );
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "1" } });
    const stop = `mutation { stopJob(id: "ada.mnist.jobs.3") { job { id } } }`;
    expect(codeOf(await ask(gateway, stop))).toBe("ok");
    await vi.waitUntil(() => service.open() === 0, AWHILE);
  });
});
