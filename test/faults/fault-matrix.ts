import dns from "node:dns";
import { expect } from "vitest";
import { systemClock } from "../../src/util/clock.ts";
import type { Seen, FakeResponse } from "../support/fake.ts";
import { type FaultServer, startFaultServer } from "../support/fault-server.ts";
import { type Answer, type Gateway, startGateway } from "../support/gateway.ts";
import matrix from "./fault-matrix.json" with { type: "json" };
import { metricOf } from "../support/metrics.ts";
import { expectNothingLeaked, OUTPUTS_OF_42, SECRET_TOKEN } from "../support/one-read.ts";
import { startCounter } from "./silent-ports.ts";

/** Bytes which prove that a download is passed on without buffering. */
const ENOUGH_BYTES = 3_000_000;

const RECORDS: Readonly<Record<string, FakeResponse>> = matrix.records;

const matrixRecord = ({ method, path }: Seen): FakeResponse | undefined =>
  RECORDS[`${method} ${path.replace("/api/v1/", "").replace(/\?.*/, "")}`];

export const MATRIX_OPERATIONS = ["look-up", "list", "nested list", "mutation", "login", "download"] as const;

export type MatrixOperation = (typeof MATRIX_OPERATIONS)[number];

interface GraphQLOperation {
  /** The route that fails, as `METHOD path`. */
  readonly route: string;
  readonly query: string;
  /** The field that fails. */
  readonly path: readonly (string | number)[];
  /** The data without a fault, with a fault at the route, and with an unreachable service. */
  readonly whole: object;
  readonly part: object;
  readonly nothing: object;
  /** The expected data if 404 on the route means that the parent does not exist. Absent where 404 has another meaning. */
  readonly missing?: object;
}

/** Each operation also reads two other values, one from the service and one from the gateway itself. */
const GRAPHQL: Readonly<Record<Exclude<MatrixOperation, "download">, GraphQLOperation>> = matrix.operations;

const DOWNLOAD_ROUTE = /^GET .*42\/outputs$/;

/** The outcome of an operation: an error code, or the kind of success. */
interface MatrixOutcome {
  readonly came: string;
  readonly isUnknown: boolean;
  /** The failure as reported to callers, without the data. */
  readonly reported: unknown;
}

const HEADERS = { authorization: `token ${SECRET_TOKEN}`, "x-request-id": "matrix-1" };

const FACTS = new Set(["code", "requestId", "upstream", "retryAfterSeconds", "outcome"]);

/** Sends a GraphQL operation, and compares its result with the data that must remain in spite of the fault. */
async function askIt({ query, path, ...data }: GraphQLOperation, { ask }: Gateway, most: "part" | "nothing") {
  const answer = (await ask(query, {}, { headers: HEADERS })) as Answer<unknown>;
  const { errors } = answer;
  if (!errors) {
    expect(answer.data).toEqual(data.whole);
    return { came: "ok", isUnknown: false, reported: null };
  }
  const ours = errors.filter((error) => error.path?.[0] === "it");
  const isMissing = data.missing !== undefined && ours[0]?.extensions["code"] === "NOT_FOUND";
  // After a rejection, no further command of a mutation is sent.
  const isStopped = query.startsWith("mutation") && ours[0]?.extensions["code"] === "RATE_LIMITED";
  const left = isStopped ? "nothing" : most;
  expect(answer.data).toEqual(isMissing ? data.missing : data[left]);
  expect(errors).toHaveLength(left === "part" ? ours.length : errors.length);
  expect(ours).toHaveLength(1);
  if (most === "part") expect(ours[0]?.path).toEqual(isMissing ? ["it"] : path);
  const { extensions = {} } = ours[0] ?? {};
  expect(Object.keys(extensions).filter((fact) => !FACTS.has(fact))).toEqual([]);
  return {
    came: String(extensions["code"]),
    isUnknown: extensions["outcome"] === "unknown",
    reported: errors,
  };
}

/** Reads a download until it ends, breaks off, or has enough bytes. */
async function download({ url }: Gateway): Promise<MatrixOutcome> {
  const came = (how: string, reported: unknown = null) => ({ came: how, isUnknown: false, reported });
  try {
    const response = await fetch(url + OUTPUTS_OF_42, { headers: HEADERS });
    if (response.status !== 200) {
      const reported = (await response.json()) as Answer<unknown>;
      return came(String(reported.errors?.[0]?.extensions["code"]), reported);
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

const runMatrix = (
  operation: MatrixOperation,
  gateway: Gateway,
  left: "part" | "nothing",
): Promise<MatrixOutcome> =>
  operation === "download" ? download(gateway) : askIt(GRAPHQL[operation], gateway, left);

const matrixRouteOf = (operation: MatrixOperation) =>
  operation === "download" ? DOWNLOAD_ROUTE : new RegExp(GRAPHQL[operation].route);

/** A cell of the table: `UPSTREAM_TIMEOUT ×1 ?`. */
const cellOf = ({ came, isUnknown }: MatrixOutcome, requests: number) =>
  `${came} ×${requests}${isUnknown ? " ?" : ""}`;

interface Scene {
  readonly service: FaultServer;
  readonly route: RegExp;
  /** Another host, to which the gateway must not connect. */
  readonly elsewhere: string;
  /** Maximum time until a response begins, in milliseconds, for rows with a deadline. */
  readonly deadlineMs: number;
}

type Repair = void | (() => unknown);

/** A fault of the service, on one route or on all routes. */
export interface MatrixFault {
  /** Causes the fault. The returned function ends it. */
  readonly bring: (scene: Scene) => Repair | Promise<Repair>;
  /** Whether the service is unreachable: none of its data can be read. */
  readonly isAll?: boolean;
  /** Whether a deadline ends the affected request. */
  readonly hasDeadline?: boolean;
}

const deadlines = (deadlineMs: number) => ({
  UPSTREAM_HEADERS_TIMEOUT_MS: `${deadlineMs}`,
  UPSTREAM_TIMEOUT_MS: `${2 * deadlineMs}`,
  UPSTREAM_IDLE_TIMEOUT_MS: `${2 * deadlineMs}`,
});

/** Runs an operation during a fault, and again after it. */
export async function observe(
  { bring, isAll = false, hasDeadline = false }: MatrixFault,
  operation: MatrixOperation,
  deadlineMs: number,
): Promise<string> {
  const service = await startFaultServer(matrixRecord);
  const elsewhere = await startCounter();
  let skippedMs = 0;
  const gateway = await startGateway({
    clock: { ...systemClock, now: () => systemClock.now() + skippedMs },
    upstream: { url: `http://db-${service.port}.internal:${service.port}` },
    token: SECRET_TOKEN,
    env: { UPSTREAM_RETRIES: "2", ...(hasDeadline && deadlines(deadlineMs)) },
  });
  const route = matrixRouteOf(operation);
  const repair = await bring({ service, route, elsewhere: elsewhere.url, deadlineMs });
  const outcome = await runMatrix(operation, gateway, isAll ? "nothing" : "part");
  const cell = cellOf(outcome, service.calls(route).length);
  expectNothingLeaked(outcome.reported, gateway.logged(), service.url);
  expect(elsewhere.connections()).toBe(0);

  service.heal();
  // Skips the longest pause that a service can request.
  skippedMs = 300_000;
  await repair?.();
  expect((await runMatrix(operation, gateway, "part")).came).toBe("ok");
  expect(await metricOf(gateway, "rungraph_upstream_requests_running")).toBe(0);
  return cell;
}

/** Replaces DNS: names below `.internal` resolve to this machine, except these. */
export const lostHosts = new Set<string>();

const worldly = dns.lookup;

type Found = (fault: Error | null, found?: { address: string; family: number }[]) => void;

export const lookUp = (host: string, options: object, found: Found) => {
  if (!host.endsWith(".internal")) return Reflect.apply(worldly, dns, [host, options, found]);
  if (!lostHosts.has(host)) return found(null, [{ address: "127.0.0.1", family: 4 }]);
  return found(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }));
};
