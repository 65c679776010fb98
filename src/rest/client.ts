import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, type Dispatcher, interceptors } from "undici";
import { readText, readWhole } from "./answer.ts";
import type { Command, Get } from "./endpoint.ts";
import { Cancelled, DeadlineError, UpstreamError } from "./errors.ts";
import { isThrottled, isTimeout, noAnswer, pauseAskedBy, refusal } from "./refusal.ts";
import { createResilience, type Pressure, type ResilienceSettings } from "./resilience.ts";

/** What came of one exchange, told by its template. */
export interface ExchangeReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly outcome: string;
  readonly ms: number;
}

export interface ClientSettings extends ResilienceSettings {
  /** `{base_url}` of the document; a path prefix is kept. */
  readonly upstreamUrl: URL;
  /** How long a connection may take to open, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long the service may take to begin its answer, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** How long one exchange may take in all, in milliseconds. Streams have no such end. */
  readonly exchangeTimeoutMs: number;
  /** How long a stream may be silent, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Longest JSON answer, in bytes after decompression. */
  readonly maxJsonBytes: number;
  /** Told of values that read as null because their type was wrong. */
  readonly onFault?: (route: string, place: string) => void;
  readonly onExchange?: (report: ExchangeReport) => void;
  /** Runs an exchange as a span of the caller's trace. */
  readonly trace: <Answer>(name: string, run: () => Promise<Answer>) => Promise<Answer>;
}

/** Whose request this is and how long it may take. */
export interface Caller {
  /** What goes behind `Authorization: token`; null only for login. */
  readonly token: string | null;
  readonly requestId: string;
  /** The trace that an exchange belongs to now, as a `traceparent`; null when there is none. */
  readonly traceparent: () => string | null;
  /** When the time of the whole request is over, in milliseconds since 1970. */
  readonly deadline: number;
  /** Fires then, and when the caller leaves. */
  readonly signal: AbortSignal;
}

type Row<At, Answer> = Get<At, Answer> | Command<At, Answer, never>;

/** One exchange: a row, its filled path with the query, and what goes with it. */
export interface Exchange<Answer> {
  readonly row: Row<never, Answer>;
  readonly path: string;
  readonly body?: string | null;
  /** What no message may repeat, beside the caller's token. */
  readonly secret?: string | null;
}

/** The service's answer as it streams in, decompressed. */
export interface Answering {
  readonly status: number;
  readonly contentType: string | null;
  readonly stream: Readable;
}

export interface Client {
  /** Reads a whole answer. A GET is tried again when the service was out of reach; a command never is. */
  ask: <Answer>(exchange: Exchange<Answer>, caller: Caller) => Promise<Answer>;
  /** Takes what it needs of a log; the rest is not fetched. */
  take: <Part>(
    exchange: Exchange<unknown>,
    caller: Caller,
    part: (answering: Answering) => Promise<Part>,
  ) => Promise<Part>;
  /** Opens a download; the one who asked reads the stream or destroys it. */
  open: (exchange: Exchange<unknown>, caller: Caller) => Promise<Answering>;
  /** How busy the gateway is with the service, and how the service is. */
  pressure: () => Pressure;
  close: () => Promise<void>;
}

/** The one place that speaks HTTP to the service. Nothing of one caller is kept for another. */
export function createClient(settings: ClientSettings): Client {
  const agent = agentOf(settings, settings.connections);
  // Callers take downloads as slowly as they like: they must not hold the connections that everybody waits for.
  const downloads = agentOf(settings, null);
  const base = new URL(`${settings.upstreamUrl.pathname.replace(/\/+$/, "")}/api/v1/`, settings.upstreamUrl);
  const resilience = createResilience(settings);

  async function open(
    exchange: Exchange<unknown>,
    caller: Caller,
    { signal = caller.signal, dispatcher = agent }: { signal?: AbortSignal; dispatcher?: Dispatcher } = {},
  ): Promise<Answering> {
    const { row, path, body = null } = exchange;
    if (caller.signal.aborted) throw left(row, caller, false);
    let response: Dispatcher.ResponseData;
    try {
      response = await dispatcher.request({
        origin: base.origin,
        path: base.pathname + path,
        method: row.method,
        headers: headersOf(caller, body, row.answer.form),
        body,
        signal,
      });
    } catch (cause) {
      throw caller.signal.aborted ? left(row, caller, true) : noAnswer(row, cause);
    }
    const contentType = header(response, "content-type");
    const stream = response.body;
    if (response.statusCode >= 300) {
      const told = await readText(stream, LONGEST_REFUSAL).catch(() => "");
      throw refusal(row, {
        status: response.statusCode,
        contentType,
        retryAfter: header(response, "retry-after"),
        text: told,
        secrets: [caller.token, exchange.secret],
      });
    }
    return {
      status: response.statusCode,
      contentType,
      stream,
    };
  }

  /** One exchange to its end. */
  async function once<Part>(
    exchange: Exchange<unknown>,
    caller: Caller,
    part: (answering: Answering) => Promise<Part>,
    signal = caller.signal,
  ): Promise<Part> {
    const answering = await open(exchange, caller, { signal });
    try {
      return await part(answering);
    } catch (cause) {
      throw caller.signal.aborted ? left(exchange.row, caller, true) : noAnswer(exchange.row, cause);
    }
  }

  /** Reports what came of an exchange, with how long it took. */
  const observed = async <Part>(
    { row }: Exchange<unknown>,
    { requestId }: Caller,
    run: () => Promise<Part>,
  ): Promise<Part> => {
    const began = performance.now();
    const tell = (outcome: string) =>
      settings.onExchange?.({
        requestId,
        method: row.method,
        route: row.path,
        outcome,
        ms: performance.now() - began,
      });
    try {
      const answer = await settings.trace(`${row.method} ${row.path}`, run);
      tell("2xx");
      return answer;
    } catch (fault) {
      tell(outcomeOf(fault));
      throw fault;
    }
  };

  /** Tries a GET again where that can help; whatever else is sent is sent once. */
  const persist = async <Part>(exchange: Exchange<unknown>, caller: Caller, attempt: () => Promise<Part>) => {
    const { row } = exchange;
    const watched = () => observed(exchange, caller, attempt);
    if (row.method !== "GET") return resilience.once(watched);
    try {
      return await resilience.again(watched, caller.signal);
    } catch (fault) {
      // Throttling is these servers' way of life: what they ask for is waited for, once, when there is time.
      const pause = pauseAskedBy(fault);
      if (!isThrottled(fault) || Date.now() + pause >= caller.deadline) throw fault;
      await sleep(pause, undefined, { signal: caller.signal }).catch(() => {
        throw left(row, caller, false);
      });
      return resilience.once(watched);
    }
  };

  return {
    ask: (exchange, caller) =>
      persist(exchange, caller, () => {
        const whole = AbortSignal.any([caller.signal, AbortSignal.timeout(settings.exchangeTimeoutMs)]);
        return once(exchange, caller, (answering) => readWhole(exchange, answering, settings), whole);
      }),
    take: (exchange, caller, part) => persist(exchange, caller, () => once(exchange, caller, part)),
    open: (exchange, caller) =>
      resilience.once(() =>
        observed(exchange, caller, () => open(exchange, caller, { dispatcher: downloads })),
      ),
    pressure: resilience.pressure,
    close: async () => void (await Promise.all([agent.close(), downloads.close()])),
  };
}

const agentOf = (settings: ClientSettings, connections: number | null): Dispatcher =>
  new Agent({
    connections,
    connect: { timeout: settings.connectTimeoutMs },
    headersTimeout: settings.headersTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
  }).compose(
    // Known servers compress unasked. Error bodies are read as well.
    interceptors.decompress({ skipErrorResponses: false }),
  );

/** HTTP status, or the code of a failure without one. */
const outcomeOf = (fault: unknown): string =>
  fault instanceof UpstreamError
    ? `${fault.facts.upstream?.status ?? fault.code}`
    : fault instanceof Cancelled
      ? "CANCELLED"
      : "INTERNAL_SERVER_ERROR";

/** Longest part of a refusal that is read: enough for any message, far less than an HTML page may be. */
const LONGEST_REFUSAL = 64 * 1024;

function headersOf(caller: Caller, body: string | null, form: string) {
  const { token, requestId } = caller;
  const traceparent = caller.traceparent();
  return {
    accept: form === "json" ? "application/json" : "*/*",
    "x-request-id": requestId,
    ...(traceparent === null ? {} : { traceparent }),
    ...(token === null ? {} : { authorization: `token ${token}` }),
    ...(body === null ? {} : { "content-type": "application/json" }),
  };
}

function header(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Nobody is there to be told any more, or the whole request's time is over; if nothing was sent, nothing can have happened. */
function left({ method, path }: Row<never, unknown>, { signal }: Caller, sent: boolean): Error {
  if (!isTimeout(signal.reason)) return new Cancelled("The caller left.");
  const message = sent
    ? "The service did not answer in time."
    : "The request's time was over before the service could be asked.";
  return new DeadlineError("UPSTREAM_TIMEOUT", message, {
    upstream: { method, route: path },
    ...(sent && method !== "GET" ? { outcome: "unknown" } : {}),
  });
}
