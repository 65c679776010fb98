import { createServer } from "node:net";
import { getNamedType, type GraphQLObjectType, isLeafType, isObjectType, isRequiredArgument } from "graphql";
import { describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { everyNth } from "../support/cases.ts";
import { type Seen, startFake, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { listen, openPort } from "../support/listen.ts";
import { post } from "../support/raw-requests.ts";
import { commands } from "../support/commands.ts";
import MISTAKES from "./mistakes.json" with { type: "json" };

/** Secrets that must never be repeated. None contains a character that is rejected anyway, and each is encoded differently in a URL. */
const TOKEN = "c4nary.Token+t0=";
const PASSWORD = "c4nary pässword&=";
const PIN = 81_425_364_758;
/** The token that login returns. */
const NEW_TOKEN = "c4nary.New+t0ken=";

/** A string in base64, at any offset in a longer string: the part that does not depend on its neighbours. */
function inBase64(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.from(" ".repeat(before) + secret).toString("base64");
    const core = whole.slice(
      [0, 2, 3][before],
      [undefined, -3, -2][(before + Buffer.byteLength(secret)) % 3],
    );
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** All encodings that would disclose a secret. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ secret }).toString().slice("secret=".length),
  JSON.stringify(secret).slice(1, -1),
  ...inBase64(secret),
];

const FORMS = [...new Set([TOKEN, PASSWORD, `${PIN}`, NEW_TOKEN].flatMap(formsOf))];

/** The encodings of the secrets in a string. */
const hits = (words: string) => FORMS.filter((form) => words.includes(form));

/** All fields without required arguments, `depth` objects deep. The log is left out, because it is passed on unchanged. */
function selectionOf(type: GraphQLObjectType, depth: number): string {
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type);
    if (field.name === "logs" || field.args.some(isRequiredArgument)) return [];
    if (isLeafType(named)) return [field.name];
    return isObjectType(named) && depth > 1 ? [`${field.name} ${selectionOf(named, depth - 1)}`] : [];
  });
  return `{ __typename ${fields.join(" ")} }`;
}

/** Every command of the document with its whole payload. */
const operations = commands.map(({ name, mutation }) => {
  const payload = getNamedType(schema.getMutationType()?.getFields()[name]?.type);
  const given = mutation.replace('"ada-demo"', JSON.stringify(PASSWORD));
  return `mutation { ${given} ${isObjectType(payload) ? selectionOf(payload, 3) : ""} }`;
});

const isLogin = (operation: string) => operation.startsWith("mutation { login(");

let times = 0;

/** A third of all mutations (without FULL an eighth), and always the login. Each call returns different mutations. */
const mutations = (): readonly string[] => [
  ...operations.filter(isLogin),
  ...everyNth(
    operations.filter((each) => !isLogin(each)),
    8,
    times++,
    3,
  ),
];

/** Sends mutations concurrently as one caller. Returns all responses as text, including headers. */
async function sendAll(url: string, these = mutations()): Promise<string> {
  const responses = await Promise.all(
    these.map(async (query) => {
      const response = await post(`${url}/graphql`, { query }, { authorization: `token ${TOKEN}` });
      return `${JSON.stringify([...response.headers])} ${await response.text()}`;
    }),
  );
  return responses.join("\n");
}

/** The only path at which the new token may appear. */
const withoutNewToken = (responses: string) => responses.replace(`"token":"${NEW_TOKEN}"`, "");

/** The secrets in a request to the service. */
const echoOf = ({ headers, body }: Seen) => `${headers["authorization"] ?? ""} ${body}`.trim();
const parsed = (body: string): object => (body === "" ? {} : (JSON.parse(body) as object));
const escaped = (words: string) => words.replaceAll("&", "&amp;");

/** Ways in which a service can repeat a request. */
const ECHOES: readonly (readonly [string, (seen: Seen) => FakeResponse])[] = [
  ["in a detail without other content", (seen) => ({ json: { detail: echoOf(seen) } })],
  ["in messages without a field", (seen) => ({ json: { non_field_errors: [`${echoOf(seen)} is wrong.`] } })],
  [
    "in the messages of the fields",
    ({ headers, body }) => ({
      json: Object.fromEntries(
        Object.entries({ authorization: headers["authorization"], ...parsed(body) }).map(([name, value]) => [
          name,
          [`"${String(value)}" is no valid choice.`],
        ]),
      ),
    }),
  ],
  ["as the fields themselves", ({ headers, body }) => ({ json: { headers, body: parsed(body) } })],
  [
    "as names of fields",
    (seen) => ({
      json: Object.fromEntries(
        echoOf(seen)
          .split(/["{}:,]+/)
          .map((word) => [word, ["Unknown."]]),
      ),
    }),
  ],
  ["in a bare string", (seen) => ({ json: echoOf(seen) })],
  ["in text", (seen) => ({ text: echoOf(seen) })],
  [
    "in half of a JSON response",
    (seen) => ({ text: `{"detail": "${echoOf(seen)}`, headers: { "content-type": "application/json" } }),
  ],
  [
    "in a page",
    (seen) => ({
      text: `<html><body><pre>${escaped(echoOf(seen))} ${echoOf(seen)}</pre></body></html>`,
      headers: { "content-type": "text/html" },
    }),
  ],
  [
    "in headers",
    ({ headers }) => ({
      json: {},
      headers: {
        "www-authenticate": `token realm="${headers["authorization"]}"`,
        "retry-after": `${headers["authorization"]}`,
        location: `/login?token=${headers["authorization"]}`,
        "set-cookie": `session=${headers["authorization"]}`,
        "x-request-id": `${headers["authorization"]}`,
        "content-type": `application/json; charset="${headers["authorization"]}"`,
      },
    }),
  ],
];

const STATUSES = [302, 400, 401, 403, 404, 429, 500];

/** The response of a service that does what was requested. */
const accepting: FakeResponse = { status: 201, json: { id: 77, token: NEW_TOKEN } };

describe("secrets that the service repeats in its refusals are not passed on", () => {
  const echoes = ECHOES.map(([name, echo], offset) => ({
    case: name,
    echo,
    statuses: everyNth(STATUSES, 7, offset),
  }));

  test.each(echoes)("$case", async ({ echo, statuses }) => {
    let status = 0;
    const refusing = await startFake((seen) => ({ ...echo(seen), status }));
    const failing = await startFake((seen) =>
      seen.method === "GET" ? { ...echo(seen), status } : accepting,
    );
    const env = { LOG_LEVEL: "debug" };
    const first = await startGateway({ upstream: refusing, env });
    const second = await startGateway({ upstream: failing, env });
    const repeated: Record<string, readonly string[]> = {};
    for (status of statuses) {
      repeated[`${status} to all`] = hits(await sendAll(first.url));
      const responses = await sendAll(second.url);
      repeated[`${status} to reads`] = hits(withoutNewToken(responses));
      expect(responses).toContain(`"token":"${NEW_TOKEN}"`);
    }
    expect(Object.entries(repeated).filter(([, found]) => found.length > 0)).toEqual([]);
    for (const { logged, url } of [first, second]) {
      const counted = await (await fetch(`${url}/metrics`)).text();
      // Both contain the login, by its route.
      for (const words of [counted, logged()]) {
        expect(words).toContain("users/token/");
        expect(hits(words)).toEqual([]);
      }
    }
    const reported = [...refusing.seen(), ...failing.seen()].map(echoOf).join("\n");
    for (const secret of [TOKEN, PASSWORD, NEW_TOKEN]) {
      expect(reported).toContain(secret);
      expect(hits(Buffer.from(`a ${secret} b`).toString("base64url"))).not.toEqual([]);
    }
  });
});

/** Services that respond to each request with success and an unusable body. */
const USELESS: readonly (readonly [string, (seen: Seen) => FakeResponse])[] = [
  ["text", (seen) => ({ text: echoOf(seen) })],
  ["half of a JSON response", (seen) => ({ text: `{"id": "${echoOf(seen)}` })],
  ["a string", (seen) => ({ json: echoOf(seen) })],
  ["a record with a string as id", (seen) => ({ json: { id: echoOf(seen), token: [echoOf(seen)] } })],
  [
    "a record with values of other types",
    (seen) => ({ json: { id: 3, name: { [echoOf(seen)]: 1 }, tags: echoOf(seen), config: [echoOf(seen)] } }),
  ],
  [
    "an invalid body labelled gzip",
    (seen) => ({ text: echoOf(seen), headers: { "content-encoding": "gzip" } }),
  ],
];

/** A service over plain sockets that echoes the request in its response. */
const repeating = (answer: (request: string) => string) => async () => {
  const server = createServer((socket) => {
    socket.on("data", (request) => socket.end(answer(request.toString())));
  });
  return `http://127.0.0.1:${await openPort(server)}`;
};

test.each<readonly [string, () => Promise<string>]>([
  ...USELESS.map(([what, answer]) => [what, async () => (await startFake(answer)).url] as const),
  ["nothing", async () => listen(() => {})],
  [
    "half of a body",
    async () =>
      listen((request, response) => {
        response.writeHead(200, { "content-length": 5_000 });
        response.write(`{"id": "${request.headers.authorization}`, () => response.destroy());
      }),
  ],
  ["no connection", async () => "http://127.0.0.1:1"],
  ["the request, not as HTTP", repeating((request) => request)],
  [
    "the request in the reason phrase",
    repeating((request) => `HTTP/1.1 400 ${request.replaceAll(/\s/g, " ")}\r\n\r\n`),
  ],
  [
    "the request in an invalid header",
    repeating((request) => `HTTP/1.1 200 OK\r\n${request.replaceAll(":", " ")}\r\n\r\n`),
  ],
])("no secret is leaked when the service responds with %s", async (_, start) => {
  const env = { LOG_LEVEL: "debug", UPSTREAM_HEADERS_TIMEOUT_MS: "50" };
  const { url, logged } = await startGateway({ upstream: { url: await start() }, env });
  expect(hits((await sendAll(url)) + logged())).toEqual([]);
});

const BASIC = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString("base64")}`;
const FORM = "application/x-www-form-urlencoded";

/** Replaces the placeholders of a request with the secrets. */
const filledIn = (text: string): string =>
  text.replaceAll("{PASSWORD}", PASSWORD).replaceAll("{PIN}", `${PIN}`).replaceAll("{TOKEN}", TOKEN);

test.each<[string, string, Record<string, string>]>([
  ...MISTAKES.map(({ case: name, body, authorization }): [string, string, Record<string, string>] => [
    name,
    filledIn(body),
    { authorization: filledIn(authorization) },
  ]),
  [
    "a form",
    `${new URLSearchParams({ query: "{ __typename }", password: PASSWORD })}`,
    { "content-type": FORM },
  ],
  ["a token of another scheme", JSON.stringify({ query: "{ viewer { id } }" }), { authorization: BASIC }],
])("a caller's invalid input is not repeated: %s", async (_, body, headers) => {
  const { url, logged, service } = await startBefore(() => accepting, { LOG_LEVEL: "debug" });
  const response = await post(`${url}/graphql`, body, { authorization: "", ...headers });
  const responses = `${JSON.stringify([...response.headers])} ${await response.text()} ${logged()}`;
  expect(responses).toContain("errors");
  expect(hits(responses)).toEqual([]);
  expect(service.seen()).toEqual([]);
});
