import dns from "node:dns";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Seen, Told } from "../support/fake.ts";
import { type Fault, type FaultServer, startFaultServer } from "../support/fault-server.ts";
import {
  bombOf,
  flood,
  garble,
  hang,
  mangle,
  promiseTooMuch,
  redirect,
  reset,
  resetMidBody,
  say,
  trickle,
} from "../support/faults.ts";
import { type Answer, type Gateway, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { withDeadline } from "../support/patience.ts";
import { startCounter } from "../support/silent-ports.ts";

const TOKEN = "c4nary.T0ken";
const OUTPUTS = "outputs";
/** Enough to say that a download is passed on and not held. */
const ENOUGH_BYTES = 3_000_000;

const RECORDS: Readonly<Record<string, Told>> = {
  "GET ada/mnist/experiments/42/": { json: { id: 42, last_status: "running" } },
  "GET ada/mnist/experiments/42/statuses": {
    json: { count: 1, next: null, results: [{ id: 1, status: "created" }] },
  },
  "GET ada/mnist/experiments/42/jobs": {
    json: { count: 3, next: null, results: [{ id: 1 }, { id: 2 }, { id: 3 }] },
  },
  ...Object.fromEntries(
    [1, 2, 3].map((id) => [
      `GET ada/mnist/experiments/42/jobs/${id}/statuses/`,
      { json: { count: 1, next: null, results: [{ id, status: "running" }] } },
    ]),
  ),
  "GET ada/mnist/jobs/3/": { json: { id: 3, last_status: "scheduled" } },
  "PATCH ada/mnist/experiments/42/": { json: { id: 42, description: "Best" } },
  "PATCH ada/mnist/jobs/3/": { json: { id: 3, description: "Second" } },
  "POST users/token/": { json: { token: "n3w.T0ken" } },
  "GET ada/mnist/experiments/42/outputs": { text: OUTPUTS },
};
const record = ({ method, path }: Seen): Told | undefined =>
  RECORDS[`${method} ${path.replace("/api/v1/", "").replace(/\?.*/, "")}`];

const OPERATIONS = ["look-up", "list", "nested list", "mutation", "login", "download"] as const;
type Operation = (typeof OPERATIONS)[number];

/** What is asked beside the field that fails: the one from the service, the other from the gateway itself. */
const ASIDE = `aside: experiment(id: "ada.mnist.42") { status } gateway { limits { maxDepth } }`;
const aside = { aside: { status: "RUNNING" }, gateway: { limits: { maxDepth: 15 } } };
const onlyGateway = { aside: null, gateway: { limits: { maxDepth: 15 } } };
const running = { nodes: [{ status: "RUNNING" }] };
const jobsWith = (statuses: unknown) => ({
  it: {
    jobs: {
      nodes: [1, 2, 3].map((id) => ({ internalId: `${id}`, statuses: id === 2 ? statuses : running })),
    },
  },
});
const COMMAND_ASIDE = `aside: updateJob(id: "ada.mnist.jobs.3", input: { description: "Second" }) { job { description } }`;
const commandAside = { aside: { job: { description: "Second" } } };

interface GraphQLOperation {
  /** What goes wrong, as `METHOD path`. */
  readonly route: RegExp;
  readonly query: string;
  /** The field that fails. */
  readonly path: readonly (string | number)[];
  /** The data without a fault, with one at the route, and with nobody there at all. */
  readonly whole: object;
  readonly part: object;
  readonly nothing: object;
  /** The data where 404 at the route says that the thing around it is not there. */
  readonly missing?: object;
}

const GRAPHQL: Readonly<Record<Exclude<Operation, "download">, GraphQLOperation>> = {
  "look-up": {
    route: /^GET .*jobs\/3\/$/,
    query: `{ it: job(id: "ada.mnist.jobs.3") { status } ${ASIDE} }`,
    path: ["it"],
    whole: { it: { status: "SCHEDULED" }, ...aside },
    part: { it: null, ...aside },
    nothing: { it: null, ...onlyGateway },
  },
  list: {
    route: /^GET .*experiments\/42\/statuses/,
    query: `{ it: experiment(id: "ada.mnist.42") { internalId statuses(first: 5) { nodes { status } } } ${ASIDE} }`,
    path: ["it", "statuses"],
    whole: { it: { internalId: "42", statuses: { nodes: [{ status: "CREATED" }] } }, ...aside },
    part: { it: { internalId: "42", statuses: null }, ...aside },
    nothing: { it: { internalId: "42", statuses: null }, ...onlyGateway },
    missing: { it: null, ...aside },
  },
  "nested list": {
    route: /^GET .*jobs\/2\/statuses/,
    query: `{ it: experiment(id: "ada.mnist.42") { jobs(first: 3) { nodes { internalId statuses(first: 5) { nodes { status } } } } } ${ASIDE} }`,
    path: ["it", "jobs", "nodes", 1, "statuses"],
    whole: { ...jobsWith(running), ...aside },
    part: { ...jobsWith(null), ...aside },
    nothing: { it: { jobs: null }, ...onlyGateway },
  },
  mutation: {
    route: /^PATCH .*experiments\/42\/$/,
    query: `mutation { it: updateExperiment(id: "ada.mnist.42", input: { description: "Best" }) { experiment { description } } ${COMMAND_ASIDE} }`,
    path: ["it"],
    whole: { it: { experiment: { description: "Best" } }, ...commandAside },
    part: { it: null, ...commandAside },
    nothing: { it: null, aside: null },
  },
  login: {
    route: /^POST .*users\/token\/$/,
    query: `mutation { it: login(input: { username: "ada", password: "c4nary" }) { token } ${COMMAND_ASIDE} }`,
    path: ["it"],
    whole: { it: { token: "n3w.T0ken" }, ...commandAside },
    part: { it: null, ...commandAside },
    nothing: { it: null, aside: null },
  },
};

const DOWNLOAD_ROUTE = /^GET .*42\/outputs$/;
const DOWNLOAD = `/downloads/${globalId("Experiment:ada/mnist/42")}/outputs`;

/** What came of an operation: a code, or how it went well. */
interface Outcome {
  readonly came: string;
  readonly isUnknown: boolean;
  /** What callers read about the failure, with nothing of the data. */
  readonly told: unknown;
}

const HEADERS = { authorization: `token ${TOKEN}`, "x-request-id": "matrix-1" };
const FACTS = new Set(["code", "requestId", "upstream", "retryAfterSeconds", "outcome"]);

/** Sends a GraphQL operation, and holds its answer against the data that must be there all the same. */
async function askIt({ query, path, ...data }: GraphQLOperation, { ask }: Gateway, left: "part" | "nothing") {
  const answer = (await ask(query, {}, { headers: HEADERS })) as Answer<unknown>;
  const { errors } = answer;
  if (!errors) {
    expect(answer.data).toEqual(data.whole);
    return { came: "ok", isUnknown: false, told: null };
  }
  const ours = errors.filter((error) => error.path?.[0] === "it");
  const isMissing = data.missing !== undefined && ours[0]?.extensions["code"] === "NOT_FOUND";
  expect(answer.data).toEqual(isMissing ? data.missing : data[left]);
  expect(errors).toHaveLength(left === "part" ? ours.length : errors.length);
  expect(ours).toHaveLength(1);
  if (left === "part") expect(ours[0]?.path).toEqual(isMissing ? ["it"] : path);
  const { extensions = {} } = ours[0] ?? {};
  expect(Object.keys(extensions).filter((fact) => !FACTS.has(fact))).toEqual([]);
  return {
    came: String(extensions["code"]),
    isUnknown: extensions["outcome"] === "unknown",
    told: errors,
  };
}

/** Takes a download until it ends, breaks off, or was long enough. */
async function download({ url }: Gateway): Promise<Outcome> {
  const came = (how: string, told: unknown = null) => ({ came: how, isUnknown: false, told });
  try {
    const response = await fetch(url + DOWNLOAD, { headers: HEADERS });
    if (response.status !== 200) {
      const told = (await response.json()) as Answer<unknown>;
      return came(String(told.errors?.[0]?.extensions["code"]), told);
    }
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size >= ENOUGH_BYTES) return came("streams");
    }
    return came("ok");
  } catch {
    return came("breaks off");
  }
}

const run = (operation: Operation, gateway: Gateway, left: "part" | "nothing"): Promise<Outcome> =>
  operation === "download" ? download(gateway) : askIt(GRAPHQL[operation], gateway, left);
const routeOf = (operation: Operation) =>
  operation === "download" ? DOWNLOAD_ROUTE : GRAPHQL[operation].route;

/** What nobody is told: where the service is, what was asked, its pages, a stack, the token. */
function expectNothingLeaked(told: unknown, gateway: Gateway, { port }: FaultServer): void {
  const logged = gateway.logged().replaceAll(/"(?:time|ms)":\d+/g, "");
  const words = `${JSON.stringify(told)} ${logged}`;
  for (const secret of [
    "c4nary",
    "n3w",
    "127.0.0.1",
    ".internal",
    `${port}`,
    "ada/mnist",
    "<html",
    "    at ",
  ]) {
    expect(words).not.toContain(secret);
  }
}

/** A cell of the table: `UPSTREAM_TIMEOUT ×1 ?`. */
const cellOf = ({ came, isUnknown }: Outcome, requests: number) =>
  `${came} ×${requests}${isUnknown ? " ?" : ""}`;

interface Scene {
  readonly service: FaultServer;
  readonly route: RegExp;
  /** Another host, to which nobody may connect. */
  readonly elsewhere: string;
  /** How long an answer may take to begin, where the row has a deadline. */
  readonly deadlineMs: number;
}
type Mend = void | (() => unknown);

/** A fault, and the cell that each operation must end in; null where the fault makes no sense. */
interface Row {
  readonly name: string;
  /** Brings the fault about, at one route or with the whole service; what it gives ends it. */
  readonly bring: (scene: Scene) => Mend | Promise<Mend>;
  /** Nobody is there: nothing of the service's can be had. */
  readonly isAll?: boolean;
  /** Whether a deadline ends what the fault began. */
  readonly hasDeadline?: boolean;
  readonly cells: Readonly<Record<Operation, string | null>>;
}

const at =
  (fault: Fault, isMeant?: (call: number) => boolean): Row["bring"] =>
  ({ service, route }) =>
    service.fail(route, fault, isMeant);
const once = (call: number) => call === 1;

/** Reads fare alike; so do a mutation and a login. */
const cells = (read: string, command: string, file: string, others: Partial<Row["cells"]> = {}) => ({
  "look-up": read,
  list: read,
  "nested list": read,
  mutation: command,
  login: command,
  download: file,
  ...others,
});

const deadlines = (deadlineMs: number) => ({
  UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}`,
  UPSTREAM_TIMEOUT_MS: `${2 * deadlineMs}`,
  UPSTREAM_IDLE_TIMEOUT_MS: `${2 * deadlineMs}`,
});
const PAGE = "<!DOCTYPE html><html><body>c4nary of /srv/tracking at db.internal</body></html>";
const html = (status: number): Fault =>
  say({ status, text: PAGE, headers: { "content-type": "text/html; charset=utf-8" } });
const detail = (status: number, headers: Record<string, string> = {}): Fault =>
  say({ status, json: { detail: "c4nary/srv" }, headers });
const bomb = bombOf(200);
const MEGABYTE = "[".padEnd(1_000_000, " ");

const NEVER_THERE = cells("UPSTREAM_UNAVAILABLE ×0", "UPSTREAM_UNAVAILABLE ×0", "UPSTREAM_UNAVAILABLE ×0");
const OUT = cells("UPSTREAM_UNAVAILABLE ×3", "UPSTREAM_UNAVAILABLE ×1 ?", "UPSTREAM_UNAVAILABLE ×1");
const LATE = cells("UPSTREAM_TIMEOUT ×1", "UPSTREAM_TIMEOUT ×1 ?", "ok ×1");
/** An answer that makes no sense; a download is bytes, whatever they are. */
const BAD = cells("UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1 ?", "ok ×1");
const OK = cells("ok ×1", "ok ×1", "ok ×1");
const REDIRECTED = cells("UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1", "UPSTREAM_BAD_RESPONSE ×1");
const refused = (code: string, login = code) =>
  cells(`${code} ×1`, `${code} ×1`, `${code} ×1`, { login: `${login} ×1` });
const onlyList = (cell: string): Row["cells"] => ({
  "look-up": null,
  list: cell,
  "nested list": cell,
  mutation: null,
  login: null,
  download: null,
});

/** A list with a link to its next page. */
const nextIs =
  (link: (elsewhere: string) => string): Row["bring"] =>
  ({ service, route, elsewhere }) =>
    service.fail(
      route,
      mangle((page) => ({ ...Object(page), next: link(elsewhere) })),
    );

const ROWS: readonly Row[] = [
  {
    name: "connection refused",
    bring: async ({ service }) => {
      await service.stop();
      return service.restart;
    },
    isAll: true,
    cells: NEVER_THERE,
  },
  {
    name: "name not found",
    bring: ({ service: { port } }) => {
      lost.add(`db-${port}.internal`);
      return () => lost.delete(`db-${port}.internal`);
    },
    isAll: true,
    cells: NEVER_THERE,
  },
  {
    name: "accepts and never answers",
    bring: at(hang),
    hasDeadline: true,
    cells: { ...LATE, download: "UPSTREAM_TIMEOUT ×1" },
  },
  { name: "reset before headers", bring: at(reset), cells: OUT },
  {
    name: "reset before headers, once",
    bring: at(reset, once),
    cells: { ...OUT, "look-up": "ok ×2", list: "ok ×2", "nested list": "ok ×2" },
  },
  { name: "reset mid-body", bring: at(resetMidBody), cells: { ...OUT, download: "breaks off ×1" } },
  {
    name: "content-length too long, then hangs up",
    bring: at(promiseTooMuch("hangs up")),
    cells: { ...OUT, download: "breaks off ×1" },
  },
  {
    name: "content-length too long, then silent",
    bring: at(promiseTooMuch("is silent")),
    hasDeadline: true,
    cells: { ...LATE, download: "breaks off ×1" },
  },
  {
    name: "one byte at a time",
    bring: ({ service, route, deadlineMs }) => service.fail(route, trickle(deadlineMs / 8)),
    hasDeadline: true,
    cells: LATE,
  },
  {
    name: "500",
    bring: at(html(500)),
    cells: cells("UPSTREAM_ERROR ×1", "UPSTREAM_ERROR ×1 ?", "UPSTREAM_ERROR ×1"),
  },
  ...[502, 503, 504].map((status): Row => {
    const command = status === 503 ? "UPSTREAM_UNAVAILABLE ×1" : "UPSTREAM_UNAVAILABLE ×1 ?";
    return {
      name: `${status} once, then 200`,
      bring: at(html(status), once),
      cells: cells("ok ×2", command, "UPSTREAM_UNAVAILABLE ×1"),
    };
  }),
  {
    name: "503 always",
    bring: at(html(503)),
    cells: cells("UPSTREAM_UNAVAILABLE ×3", "UPSTREAM_UNAVAILABLE ×1", "UPSTREAM_UNAVAILABLE ×1"),
  },
  {
    name: "503 with Retry-After: 3600",
    bring: at(detail(503, { "retry-after": "3600" })),
    cells: refused("UPSTREAM_UNAVAILABLE"),
  },
  {
    name: "429 with Retry-After: 1, once",
    bring: at(detail(429, { "retry-after": "1" }), once),
    cells: cells("ok ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1"),
  },
  {
    name: "429 with Retry-After: 3600",
    bring: at(detail(429, { "retry-after": "3600" })),
    cells: refused("RATE_LIMITED"),
  },
  {
    name: "429 with Retry-After: a date that is over",
    bring: at(detail(429, { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })),
    cells: cells("RATE_LIMITED ×2", "RATE_LIMITED ×1", "RATE_LIMITED ×1"),
  },
  {
    name: "429 with Retry-After: nonsense",
    bring: at(detail(429, { "retry-after": "soon" })),
    cells: refused("RATE_LIMITED"),
  },
  { name: "400", bring: at(detail(400)), cells: refused("BAD_USER_INPUT", "BAD_CREDENTIALS") },
  { name: "401", bring: at(detail(401)), cells: refused("UNAUTHENTICATED", "BAD_CREDENTIALS") },
  { name: "403", bring: at(detail(403)), cells: refused("FORBIDDEN", "BAD_CREDENTIALS") },
  { name: "404", bring: at(detail(404)), cells: refused("NOT_FOUND") },
  { name: "404 with a page", bring: at(html(404)), cells: refused("UPSTREAM_UNSUPPORTED") },
  { name: "409", bring: at(detail(409)), cells: refused("CONFLICT") },
  { name: "422", bring: at(detail(422)), cells: refused("BAD_USER_INPUT") },
  { name: "418", bring: at(detail(418)), cells: refused("UPSTREAM_ERROR") },
  { name: "half of the JSON", bring: at(garble((body) => body.subarray(0, -2))), cells: BAD },
  { name: "200 with nothing", bring: at(garble(() => "")), cells: BAD },
  { name: "a byte order mark in front", bring: at(garble((body) => `\uFEFF${body.toString()}`)), cells: OK },
  {
    name: "latin-1",
    bring: at(garble((body) => Buffer.from(body.toString().replace("{", '{"note": "pässword", '), "latin1"))),
    cells: OK,
  },
  { name: "a page with 200", bring: at(html(200)), cells: BAD },
  { name: "a page with 502", bring: at(html(502)), cells: OUT },
  { name: "a string", bring: at(garble(() => '"c4nary"')), cells: BAD },
  { name: "a list of nothing", bring: at(garble(() => "[]")), cells: BAD },
  { name: "an object of nothing", bring: at(garble(() => "{}")), cells: BAD },
  {
    name: "values of wrong types",
    bring: at(garble(() => '{"id": "c4nary", "token": 7, "results": {"id": 1}}')),
    cells: BAD,
  },
  {
    name: "`results` of other things",
    bring: at(garble(() => '{"results": [7, null, "c4nary"]}')),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  },
  {
    name: "`next` on another host",
    bring: nextIs((elsewhere) => `${elsewhere}/c4nary?offset=1&token=c4nary`),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×2"),
  },
  {
    name: "`next` that is no link",
    bring: nextIs(() => "http://[c4nary"),
    cells: onlyList("UPSTREAM_BAD_RESPONSE ×1"),
  },
  { name: "`next` to itself", bring: nextIs(() => "?limit=1"), cells: onlyList("UPSTREAM_BAD_RESPONSE ×2") },
  { name: "gzip, unasked", bring: at(garble(gzipSync, { "content-encoding": "gzip" })), cells: OK },
  { name: "br, unasked", bring: at(garble(brotliCompressSync, { "content-encoding": "br" })), cells: OK },
  { name: "deflate, unasked", bring: at(garble(deflateSync, { "content-encoding": "deflate" })), cells: OK },
  {
    name: "gzip that is none",
    bring: at(garble((body) => body, { "content-encoding": "gzip" })),
    cells: { ...BAD, download: "breaks off ×1" },
  },
  {
    name: "br that is gzip",
    bring: at(garble(gzipSync, { "content-encoding": "br" })),
    cells: { ...BAD, download: "breaks off ×1" },
  },
  {
    name: "zip bomb of 200 MB",
    bring: async ({ service, route }) => {
      const text = await bomb;
      service.fail(
        route,
        say({ text, headers: { "content-type": "application/json", "content-encoding": "gzip" } }),
      );
    },
    cells: { ...BAD, download: "streams ×1" },
  },
  { name: "endless body", bring: at(flood({ chunk: MEGABYTE })), cells: { ...BAD, download: "streams ×1" } },
  {
    name: "64 MB of JSON",
    bring: at(flood({ chunk: MEGABYTE, times: 64 })),
    cells: { ...BAD, download: "streams ×1" },
  },
  {
    name: "redirect to the same host",
    bring: at(redirect(307, ({ url = "" }) => `${url}?c4nary`)),
    cells: REDIRECTED,
  },
  {
    name: "redirect to another host",
    bring: ({ service, route, elsewhere }) =>
      service.fail(
        route,
        redirect(308, ({ url = "" }) => elsewhere + url),
      ),
    cells: REDIRECTED,
  },
  { name: "redirect in a loop", bring: at(redirect(301, ({ url = "" }) => url)), cells: REDIRECTED },
];

/** Lets a fault happen to an operation, and afterwards no more. */
async function observe(
  { bring, isAll = false, hasDeadline = false }: Row,
  operation: Operation,
  deadlineMs: number,
): Promise<string> {
  const service = await startFaultServer(record);
  const elsewhere = await startCounter();
  const gateway = await startGateway({
    upstream: { url: `http://db-${service.port}.internal:${service.port}` },
    token: TOKEN,
    env: { UPSTREAM_RETRIES: "2", LOG_LEVEL: "debug", ...(hasDeadline && deadlines(deadlineMs)) },
  });
  const route = routeOf(operation);
  const mend = await bring({ service, route, elsewhere: elsewhere.url, deadlineMs });
  const outcome = await run(operation, gateway, isAll ? "nothing" : "part");
  const cell = cellOf(outcome, service.calls(route).length);
  expectNothingLeaked(outcome.told, gateway, service);
  expect(elsewhere.connections()).toBe(0);

  service.heal();
  await mend?.();
  expect((await run(operation, gateway, "part")).came).toBe("ok");
  return cell;
}

/** Stands for the name service of the world: of the names below `.internal` some are lost, the others this machine's. */
const lost = new Set<string>();
const worldly = dns.lookup;
type Found = (fault: Error | null, found?: { address: string; family: number }[]) => void;
const lookUp = (host: string, options: object, found: Found) => {
  if (!host.endsWith(".internal")) return Reflect.apply(worldly, dns, [host, options, found]);
  if (!lost.has(host)) return found(null, [{ address: "127.0.0.1", family: 4 }]);
  return found(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }));
};

const held = new Map<string, Partial<Record<Operation, string>>>();

describe("each fault ends each operation as the table says: the rest of the data is there, nothing leaks, the next operation is fine", () => {
  test.each(ROWS)("$name", async (row) => {
    // No pause between tries.
    vi.spyOn(Math, "random").mockReturnValue(0);
    // The gateway asks for all addresses: that is the form of the answer here.
    vi.spyOn(dns, "lookup").mockImplementation(lookUp as never);
    onTestFinished(() => void vi.restoreAllMocks());
    const meant = OPERATIONS.filter((operation) => row.cells[operation] !== null);
    await withDeadline(async (deadlineMs) => {
      const cellsOf = meant.map(async (each) => [each, await observe(row, each, deadlineMs)] as const);
      const found = Object.fromEntries(await Promise.all(cellsOf));
      held.set(row.name, found);
      expect({ ...row.cells, ...found }).toEqual(row.cells);
    });
  });
});

const LEGEND = `# Fault matrix

What an operation ends in when the service fails in one of its requests. Generated by \`test/faults/matrix.test.ts\`,
which also holds that the rest of the data is there, that no host, port, path, page, stack or token is told or logged,
and that the next operation is fine.

\`CODE ×n\`: the code, and how many requests the service saw for it (of ours: a read is tried twice again where that can
help). \`?\`: the error says \`outcome: "unknown"\`, the command may have happened. \`ok\`: the whole answer.
\`streams\`: passed on as it comes, at any length. \`breaks off\`: so does the caller's download. –: makes no sense.
`;

/** The table in Markdown, its columns aligned. */
function tableOf(rows: readonly Pick<Row, "name" | "cells">[]): string {
  const lines = [
    ["fault", ...OPERATIONS],
    ...rows.map(({ name, cells: row }) => [name, ...OPERATIONS.map((operation) => row[operation] ?? "–")]),
  ];
  const widths = ["", ...OPERATIONS].map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const [head = "", ...body] = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [head, rule, ...body, ""].join("\n");
}

test("the page of the documentation is this table", async () => {
  await expect(`${LEGEND}\n${tableOf(ROWS)}`).toMatchFileSnapshot("../../docs/fault-matrix.md");
});

/** What this run saw, each cell held against what it must be. */
afterAll(() => {
  const seen = ROWS.filter(({ name }) => held.has(name)).map(({ name, cells: meant }) => {
    const row = OPERATIONS.map((operation) => {
      const cell = held.get(name)?.[operation];
      return [operation, cell === undefined ? null : `${cell === meant[operation] ? "✓" : "✗"} ${cell}`];
    });
    return { name, cells: Object.fromEntries(row) as Row["cells"] };
  });
  if (seen.length > 0) process.stdout.write(`\n${tableOf(seen)}\n`);
});
