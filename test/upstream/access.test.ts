import { createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { issuesOf } from "../support/settings-issues.ts";
import { startFake } from "../support/fake.ts";
import { reaches } from "../support/metrics.ts";
import { latch } from "../support/latch.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { openPort } from "../support/listen.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { begin } from "../support/readers.ts";
import { makeAuthority, SERVICE_HOST, startProxy, startService, writeFiles } from "../support/tls.ts";
import USELESS from "./useless-certificate.json" with { type: "json" };

const QUERY = `{ viewer { isSuperuser } job(id: "ada.mnist.jobs.3") { logs { text } } }`;
const ANSWER = { data: { viewer: { isSuperuser: true }, job: { logs: { text: "step 1\n" } } } };

/** The result of `askAll` if nothing is blocked. */
const ALL = { answer: ANSWER, file: "200 step 1\n" };

const DOWNLOAD = `/downloads/${globalId("Job:ada/mnist/3")}/logs`;

/** Reads a record, a log window and a download through a gateway in front of this address. */
async function askAll(url: string, env: Record<string, string>) {
  const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_URL: url, ...env } });
  const answer = await gateway.ask(QUERY);
  const file = await fetch(gateway.url + DOWNLOAD, { headers: { authorization: "token t0ken" } });
  return { answer, file: `${file.status} ${await file.text()}`, logged: gateway.logged() };
}

const codesOf = ({ errors }: Answer<unknown>) => errors?.map(({ extensions }) => extensions["code"]);
const OUT_OF_REACH = ["UPSTREAM_UNAVAILABLE", "UPSTREAM_UNAVAILABLE"];

/** Properties of the service's certificate, if they are not the usual ones. */
interface Made {
  readonly host?: string;
  readonly ofAuthority?: Parameters<typeof makeAuthority>[0];
  readonly ofService?: Parameters<typeof makeAuthority>[0];
}

/** The log line about an untrusted certificate. Its code depends on the OpenSSL of Node.js. */
const UNTRUSTED = /"cause":"[A-Z_]+","msg":"a request to the service failed"/;

const PATHS = ["/api/v1/ada/mnist/jobs/3/logs", "/api/v1/ada/mnist/jobs/3/logs", "/api/v1/users/"];

const pathsOf = (service: { readonly seen: () => readonly { readonly path: string }[] }) =>
  service
    .seen()
    .map(({ path }) => path)
    .toSorted();

describe("a service with a certificate from an unknown authority", () => {
  test("is trusted when its authority is in UPSTREAM_CA_FILE", async () => {
    const authority = await makeAuthority();
    const service = await startService(await authority.issue("localhost"));
    const { ca } = writeFiles({ ca: authority.cert });
    const asked = await askAll(service.localUrl, { UPSTREAM_CA_FILE: ca });
    expect(asked).toMatchObject(ALL);
    expect(pathsOf(service)).toEqual(PATHS);
  });

  test.each([
    ["of an unknown authority", {}],
    ["for clients only", { ofService: [{ name: "extKeyUsage", clientAuth: true }] }],
    [
      "of an authority that may not issue certificates",
      { ofAuthority: [{ name: "keyUsage", digitalSignature: true }] },
    ],
    ["of another host", { host: "other.invalid" }],
  ] as const)("gets no requests if its certificate is one %s", async (_, made: Made) => {
    const authority = await makeAuthority(made.ofAuthority);
    const service = await startService(await authority.issue(made.host ?? "localhost", made.ofService));
    const { ca } = writeFiles({ ca: authority.cert });
    const isKnown = Object.keys(made).length > 0;
    const { answer, file, logged } = await askAll(service.localUrl, isKnown ? { UPSTREAM_CA_FILE: ca } : {});
    expect([codesOf(answer), file.slice(0, 4)]).toEqual([OUT_OF_REACH, "503 "]);
    expect(logged).toMatch(UNTRUSTED);
    expect(service.seen()).toEqual([]);
  });
});

describe("with UPSTREAM_PROXY", () => {
  test.each([
    ["http", 80],
    ["https", 443],
  ])("all requests to an %s service use tunnels through the proxy", async (scheme, port) => {
    const authority = await makeAuthority();
    const service = await startService(scheme === "https" ? await authority.issue(SERVICE_HOST) : null);
    const proxy = await startProxy(service);
    const { ca } = writeFiles({ ca: authority.cert });
    const [set, cleared] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
    onTestFinished(() => void vi.restoreAllMocks());
    const asked = await askAll(service.url, {
      UPSTREAM_PROXY: proxy.url,
      UPSTREAM_CONNECT_TIMEOUT_MS: "54321",
      ...(scheme === "https" ? { UPSTREAM_CA_FILE: ca } : {}),
    });
    expect(asked).toMatchObject(ALL);
    expect(pathsOf(service)).toEqual(PATHS);
    // One connection is used for records, and one for each stream.
    const tunnel = `CONNECT ${SERVICE_HOST}:${port}`;
    expect(proxy.lines()).toEqual([tunnel, tunnel, tunnel]);
    expect(proxy.requests().some(({ headers }) => "proxy-authorization" in headers)).toBe(false);
    // The timeout for opening a tunnel does not end it later.
    const timers = set.mock.results.filter((_, index) => set.mock.calls[index]?.[1] === 54_321);
    expect(timers.length).toBeGreaterThan(2);
    for (const { value } of timers) expect(cleared.mock.calls.flat()).toContain(value);
    expect(service.seen().map(({ headers }) => headers.host)).toEqual(Array.from(PATHS, () => SERVICE_HOST));
  });

  test("the gateway presents its certificate through the tunnel", async () => {
    const authority = await makeAuthority();
    const service = await startService({
      ...(await authority.issue(SERVICE_HOST)),
      clientAuthority: authority.cert,
    });
    const proxy = await startProxy(service);
    const { ca, cert, key } = writeFiles({ ca: authority.cert, ...(await authority.issue("gateway-1")) });
    const asked = await askAll(service.url, {
      UPSTREAM_PROXY: proxy.url,
      UPSTREAM_CA_FILE: ca,
      UPSTREAM_CERT_FILE: cert,
      UPSTREAM_KEY_FILE: key,
    });
    expect(asked).toMatchObject(ALL);
    expect(service.seen().map(({ client }) => client)).toEqual(["gateway-1", "gateway-1", "gateway-1"]);
  });

  test("the proxy receives its own credentials, but no headers for the service", async () => {
    const service = await startService();
    const proxy = await startProxy(service, { credentials: "gateway:p@ss word" });
    const asked = await askAll(service.url, {
      UPSTREAM_PROXY: `http://gateway:p%40ss%20word@${proxy.host}`,
      UPSTREAM_HEADERS: JSON.stringify({ "x-key": "canary" }),
    });
    expect(asked).toMatchObject(ALL);
    for (const { headers } of proxy.requests())
      expect(Object.keys(headers).toSorted()).toEqual(["connection", "host", "proxy-authorization"]);
    expect(service.seen().some(({ headers }) => "proxy-authorization" in headers)).toBe(false);
  });

  test("a proxy's refusal is UPSTREAM_UNAVAILABLE, and its status is logged", async () => {
    const service = await startService();
    const proxy = await startProxy(service, { credentials: "gateway:right" });
    const { answer, file, logged } = await askAll(service.url, {
      UPSTREAM_PROXY: `http://gateway:canary@${proxy.host}`,
    });
    expect([codesOf(answer), file.slice(0, 4)]).toEqual([OUT_OF_REACH, "503 "]);
    expect(logged).toContain(`"cause":"PROXY_407"`);
    const output = logged + file + JSON.stringify(answer);
    const encoded = Buffer.from("gateway:canary").toString("base64");
    for (const secret of ["canary", encoded, proxy.host, SERVICE_HOST]) expect(output).not.toContain(secret);
    expect(service.seen()).toEqual([]);
    await vi.waitUntil(() => proxy.connections() === 0, LONG_TIMEOUT);
  });

  test("the service is unavailable if the proxy is missing or silent", async () => {
    const service = await startService();
    const silent = createServer((socket) => socket.resume());
    const port = await openPort(silent);
    const env = { UPSTREAM_PROXY: `http://127.0.0.1:${port}`, UPSTREAM_CONNECT_TIMEOUT_MS: "50" };
    const waiting = await askAll(service.url, env);
    expect(waiting.file).toMatch(/^503 /);
    expect(waiting.logged).toContain(`"cause":"PROXY_TIMEOUT"`);
    const gone = await askAll(service.url, { UPSTREAM_PROXY: "http://127.0.0.1:1" });
    expect(gone.file).toMatch(/^503 /);
    expect(gone.logged.match(/"cause":"PROXY_ECONNREFUSED"/g)).toHaveLength(1);
    expect(service.seen()).toEqual([]);
  });

  test("no command is sent if the caller leaves before the tunnel opens", async () => {
    const tunnel = latch();
    const service = await startService();
    const proxy = await startProxy(service, { opened: tunnel.opened });
    const env = { UPSTREAM_URL: service.url, UPSTREAM_PROXY: proxy.url, UPSTREAM_CONNECTIONS: "1" };
    const more = { UPSTREAM_CONNECT_TIMEOUT_MS: "60000" };
    const gateway = await startGateway({ upstream: service, env: { ...env, ...more } });
    const stop = `mutation { stopJob(id: "ada.mnist.jobs.3", force: true) { job { id } } }`;
    const leaver = begin(gateway.url, { path: "/graphql", graphql: stop });
    await vi.waitUntil(() => proxy.lines().length === 1, LONG_TIMEOUT);
    leaver.destroy();
    await reaches(gateway, "rungraph_operations_running", 0);
    tunnel.open();
    expect((await gateway.ask("{ viewer { isSuperuser } }")).errors).toBeUndefined();
    expect(service.seen().map(({ path }) => path)).toEqual(["/api/v1/users/"]);
  });

  test("warns at startup about rejected proxy credentials, without logging them", async () => {
    const proxy = await startProxy(await startService(), { credentials: "gateway:right" });
    const gateway = await startGatewayProcess(`http://${SERVICE_HOST}`, {
      UPSTREAM_PROXY: `http://gateway:canary@${proxy.host}`,
    });
    onTestFinished(() => gateway.kill());
    await expect.poll(() => proxy.lines(), LONG_TIMEOUT).toEqual([`CONNECT ${SERVICE_HOST}:80`]);
    await expect.poll(() => gateway.output(), LONG_TIMEOUT).toContain("(PROXY_407)");
    expect(gateway.output()).not.toContain("canary");
    expect(gateway.output()).not.toContain(proxy.host);
  });
});

describe("each request to the service", () => {
  test.each([
    [{}, { "user-agent": expect.stringMatching(/^rungraph\/\d+\.\d+\.\d+$/) }],
    [
      { UPSTREAM_HEADERS: JSON.stringify({ "X-Api-Key": "key 1", "user-agent": "tracker-gateway" }) },
      { "x-api-key": "key 1", "user-agent": "tracker-gateway", authorization: "token t0ken" },
    ],
  ])("identifies the gateway, and carries the headers set in %o", async (env, headers) => {
    const service = await startService();
    await askAll(service.localUrl, env as Record<string, string>);
    expect(service.seen()).toMatchObject(PATHS.map(() => ({ headers })));
  });

  test("does not disclose configured headers, even if the service echoes them", async () => {
    const detailOf = (key: unknown) => `The key ${String(key).split(" ")[1]} is not known.`;
    const upstream = await startFake(({ headers }) => ({
      status: 403,
      json: { detail: detailOf(headers["x-api-key"]) },
    }));
    const env = { UPSTREAM_HEADERS: JSON.stringify({ "x-api-key": "Key canary-canary" }) };
    const gateway = await startGateway({ upstream, env });
    const answer = await gateway.ask(QUERY);
    expect(codesOf(answer)).toContain("FORBIDDEN");
    expect(JSON.stringify(answer) + gateway.logged()).not.toContain("canary");
  });
});

describe("incompatible settings", () => {
  const filesOf = async () => {
    const authority = await makeAuthority();
    const [one, other] = [await authority.issue("one"), await authority.issue("other")];
    return writeFiles({ ca: authority.cert, cert: one.cert, key: one.key, otherKey: other.key });
  };
  const HTTPS = { UPSTREAM_URL: "https://service.example" };

  test("are refused at startup, each by name", async () => {
    const { ca, cert, key, otherKey } = await filesOf();
    const lines = [
      { ...HTTPS, UPSTREAM_CERT_FILE: cert },
      { ...HTTPS, UPSTREAM_KEY_FILE: key },
      { ...HTTPS, UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: otherKey },
      { UPSTREAM_URL: "http://service.example", UPSTREAM_CA_FILE: ca },
      { UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: key },
      { UPSTREAM_PROXY: "http://proxy.example:3128" },
      { ...HTTPS, UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: cert },
      { ...HTTPS, UPSTREAM_CA_FILE: key },
    ].flatMap(issuesOf);
    expect(lines).toEqual([
      "UPSTREAM_KEY_FILE: expected the key of UPSTREAM_CERT_FILE, got none",
      "UPSTREAM_CERT_FILE: expected the certificate of UPSTREAM_KEY_FILE, got none",
      "UPSTREAM_KEY_FILE: expected the key of the first certificate in UPSTREAM_CERT_FILE, got another",
      "UPSTREAM_CA_FILE: expected an https UPSTREAM_URL as well",
      "UPSTREAM_CERT_FILE: expected an https UPSTREAM_URL as well",
      "UPSTREAM_PROXY: expected UPSTREAM_URL as well, because the demo needs no proxy",
      "UPSTREAM_KEY_FILE: expected a private key in PEM without a passphrase",
      "UPSTREAM_CA_FILE: expected certificates in PEM",
    ]);
  });

  test("are reported with OpenSSL's reason when OpenSSL rejects them", async () => {
    // TLS does not support keys of this kind, X25519, in certificates.
    const { cert, key } = writeFiles(USELESS);
    const [fault] = issuesOf({ ...HTTPS, UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: key });
    expect(fault).toMatch(/^UPSTREAM_CERT_FILE: expected what OpenSSL accepts, got a fault \(ERR_SSL_\w+\)$/);
  });
});
