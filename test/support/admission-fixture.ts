import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { metricOf } from "./metrics.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import { type latch, latch as createLatch } from "./latch.ts";
import { fakeClock } from "./fake-clock.ts";
import { listen } from "./listen.ts";
import { experimentIn, RUNNING_RECORD, statusOf } from "./one-read.ts";
import { JSON_BODY } from "./raw-requests.ts";

/** A caller. `from`: the address from which it connects. `forwarded`: the `X-Forwarded-For` header that it sends. */
export interface Who {
  readonly token: string | null;
  readonly from?: string;
  readonly forwarded?: string;
  /** Whether its WebSockets send the token in their headers, as programs do, and not in `connection_init`. */
  readonly byHeader?: true;
}

/** How a request ended: `in` if the caller got a permit, otherwise the HTTP status or WebSocket close code of the refusal. */
export type Outcome = "in" | number;

/** The service accepts no token with this prefix. */
const INVENTED = /^token invented/;

/** A description that is longer than the buffers of a connection that the client does not read. */
const LONG = "x".repeat(9_000_000);

/** The experiment whose response is sent immediately. */
export const AT_ONCE = 1;

/** Experiments from this number on have a long response, which is sent immediately and which a caller may leave unread. */
export const LONG_FROM = 5_000;

/** Matches the list of experiments of a project whose name is a number. */
const LIST = /\/ada\/(\d+)\/experiments\?/;

/** Starts a service that delays responses until the test releases them by number: for an experiment, a project, or a user who signs in. */
async function startService() {
  const latches = new Map<
    number,
    { arrived: ReturnType<typeof latch>; released: ReturnType<typeof latch> }
  >();
  const of = (number: number) => {
    const known = latches.get(number) ?? { arrived: createLatch(), released: createLatch() };
    latches.set(number, known);
    return known;
  };
  const revoked = new Set<string>();
  const answer = async (path: string, authorization: string, response: ServerResponse, body: string) => {
    const list = LIST.exec(path)?.[1];
    const number = path.endsWith("users/token/")
      ? Number(/\d+/.exec(body))
      : Number(list ?? experimentIn(path));
    const isInvented = INVENTED.test(authorization) || revoked.has(authorization);
    const isFile = path.includes("/outputs") && !isInvented;
    if (isFile) response.writeHead(200).write(number < LONG_FROM ? "begun" : LONG.repeat(2));
    if (number !== AT_ONCE && number < LONG_FROM) {
      of(number).arrived.open();
      await of(number).released.opened;
    }
    if (isFile) return response.end();
    const description = number < LONG_FROM ? "" : LONG;
    // A finished run ends its subscription.
    const ended = number < LONG_FROM ? { last_status: "succeeded" } : {};
    const record = { ...RUNNING_RECORD, ...ended, id: number, token: "n3w", description };
    response.writeHead(isInvented ? 401 : 200, JSON_BODY);
    const found = list === undefined ? record : { count: 1, next: null, results: [record] };
    response.end(JSON.stringify(isInvented ? { detail: "Invalid token." } : found));
  };
  const url = await listen(async (received, response) => {
    await answer(received.url ?? "", received.headers.authorization ?? "", response, await text(received));
  });
  return {
    url,
    /** Resolves when the service has received a request for this number. */
    arrived: (number: number) => of(number).arrived.opened,
    release: (number: number) => of(number).released.open(),
    /** Stops accepting a token. */
    revoke: (token: string) => void revoked.add(`token ${token}`),
  };
}

export type Fixture = Awaited<ReturnType<typeof startFixture>>;

/** Starts a gateway with a fake clock, in front of the service that delays responses. */
export async function startFixture(options: Omit<GatewayOptions, "upstream" | "clock"> = {}) {
  const service = await startService();
  const time = fakeClock();
  const gateway = await startGateway({ upstream: service, clock: time.clock, ...options });
  let numbers = 100;
  return {
    ...time,
    ...service,
    ...gateway,
    now: time.clock.now,
    /** A number that no experiment has had. */
    next: () => numbers++,
    /** Makes the service accept the tokens. */
    accept: async (...tokens: readonly string[]) => {
      for (const token of tokens) await gateway.ask(statusOf(AT_ONCE), {}, { token });
    },
    metric: (name: string) => metricOf(gateway, name),
  };
}

/** The headers that identify a caller. */
export const headersOf = ({ token, forwarded }: Who): Record<string, string> => ({
  ...(token === null ? {} : { authorization: `token ${token}` }),
  ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
});

export interface Message {
  readonly path: string;
  readonly headers?: Record<string, string>;
  /** The body of a POST; without a body the request is a GET. */
  readonly body?: string;
}

/** Sends a request on a new connection, from the address of the caller. */
export function send({ url }: Pick<Fixture, "url">, who: Who, { path, headers = {}, body }: Message) {
  const sent = request(`${url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    agent: false,
    localAddress: who.from ?? "127.0.0.1",
    headers: { ...(body === undefined ? {} : JSON_BODY), ...headersOf(who), ...headers },
  });
  onTestFinished(() => void sent.destroy());
  const closed = new Promise<void>((resolve) => sent.on("error", () => {}).on("close", resolve));
  const response = new Promise<IncomingMessage>((resolve) => sent.on("response", resolve));
  return { sent, response, closed };
}

/** The error codes that a caller receives if it gets no permit, with their statuses. */
const STATUSES: Readonly<Record<string, number>> = { RATE_LIMITED: 429, SERVICE_OVERLOADED: 503 };

/** Finds the reason for the rejection in a response; `in` if there is none. */
export const refusalIn = (reported: string): Outcome =>
  STATUSES[/"code":"([A-Z_]+)"/.exec(reported)?.[1] ?? ""] ?? "in";

/** Reads a response. Returns the reason why the caller got no permit, or `in`. */
export const outcomeOf = async (response: IncomingMessage): Promise<Outcome> =>
  refusalIn(await text(response));
