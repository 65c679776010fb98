import { type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { DelegateBackoff, handleWhen, type IRetryBackoffContext, retry } from "cockatiel";
import { Agent, type Dispatcher, interceptors } from "undici";
import { type Command, type Get } from "./endpoint.ts";
import { Cancelled, UpstreamError, type UpstreamFacts } from "./errors.ts";
import {
  isThrottled,
  isTimeout,
  isTransient,
  noAnswer,
  pauseAskedBy,
  pauseBefore,
  refusal,
  TooLarge,
} from "./refusal.ts";
import { parseJson, type Reading } from "./reader.ts";

export interface ClientSettings {
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
  /** How many connections are kept to the service. */
  readonly connections: number;
  /** Longest JSON answer, in bytes after decompression. */
  readonly maxJsonBytes: number;
  /** How many times a failed GET is tried again. */
  readonly retries: number;
  /** Told of values that read as null because their type was wrong. */
  readonly onFault?: (route: string, place: string) => void;
}

/** Whose request this is and how long it may take. */
export interface Caller {
  /** What goes behind `Authorization: token`; null only for login. */
  readonly token: string | null;
  readonly requestId: string;
  /** When the time of the whole request is over, in milliseconds since 1970. */
  readonly deadline: number;
  /** Fires then, and when the caller leaves. */
  readonly signal: AbortSignal;
}

export type Row<At, Answer> = Get<At, Answer> | Command<At, Answer, never>;

/** One exchange: a row, its filled path with the query, and what goes with it. */
interface Exchange<Answer> {
  readonly row: Row<never, Answer>;
  readonly path: string;
  readonly body?: string | null;
}

/** The service's answer as it streams in, decompressed. */
export interface Answering {
  readonly status: number;
  readonly contentType: string | null;
  readonly disposition: string | null;
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
  close: () => Promise<void>;
}

/** The one place that speaks HTTP to the service. Nothing of one caller is kept for another. */
export function createClient(settings: ClientSettings): Client {
  const agent = new Agent({
    connections: settings.connections,
    connect: { timeout: settings.connectTimeoutMs },
    headersTimeout: settings.headersTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
  }).compose(
    // Known servers compress unasked. Error bodies are read as well.
    interceptors.decompress({ skipErrorResponses: false }),
  );
  const base = new URL(`${settings.upstreamUrl.pathname.replace(/\/+$/, "")}/api/v1/`, settings.upstreamUrl);
  const retrying = retry(handleWhen(isTransient), {
    maxAttempts: settings.retries,
    backoff: new DelegateBackoff(({ attempt, result }: IRetryBackoffContext<unknown>) =>
      pauseBefore(attempt, "error" in result ? result.error : null),
    ),
  });

  async function open(
    exchange: Exchange<unknown>,
    caller: Caller,
    signal = caller.signal,
  ): Promise<Answering> {
    const { row, path, body = null } = exchange;
    if (caller.signal.aborted) throw tooLate(row, caller);
    let response: Dispatcher.ResponseData;
    try {
      response = await agent.request({
        origin: base.origin,
        path: base.pathname + path,
        method: row.method,
        headers: headersOf(caller, body, row.answer.form),
        body,
        signal,
      });
    } catch (cause) {
      throw caller.signal.aborted ? left(row, caller) : noAnswer(row, cause);
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
        secret: caller.token,
      });
    }
    return {
      status: response.statusCode,
      contentType,
      disposition: header(response, "content-disposition"),
      stream,
    };
  }

  async function once<Part>(
    exchange: Exchange<unknown>,
    caller: Caller,
    part: (answering: Answering) => Promise<Part>,
    signal?: AbortSignal,
  ): Promise<Part> {
    const answering = await open(exchange, caller, signal);
    try {
      return await part(answering);
    } catch (cause) {
      throw caller.signal.aborted ? left(exchange.row, caller) : noAnswer(exchange.row, cause);
    }
  }

  /** Tries a GET again where that can help; whatever else is sent is sent once. */
  const persist = async <Part>({ row }: Exchange<unknown>, caller: Caller, attempt: () => Promise<Part>) => {
    if (row.method !== "GET") return attempt();
    try {
      return await retrying.execute(attempt, caller.signal);
    } catch (fault) {
      // Throttling is these servers' way of life: what they ask for is waited for, once, when there is time.
      const pause = pauseAskedBy(fault);
      if (!isThrottled(fault) || Date.now() + pause >= caller.deadline) throw fault;
      await sleep(pause, undefined, { signal: caller.signal }).catch(() => {
        throw tooLate(row, caller);
      });
      return attempt();
    }
  };

  return {
    ask: (exchange, caller) =>
      persist(exchange, caller, () => {
        const whole = AbortSignal.any([caller.signal, AbortSignal.timeout(settings.exchangeTimeoutMs)]);
        return once(exchange, caller, (answering) => readWhole(exchange, answering, settings), whole);
      }),
    take: (exchange, caller, part) => persist(exchange, caller, () => once(exchange, caller, part)),
    open: (exchange, caller) => open(exchange, caller),
    close: () => agent.close(),
  };
}

async function readWhole<Answer>(
  exchange: Exchange<Answer>,
  { stream, status }: Answering,
  { maxJsonBytes, onFault }: ClientSettings,
): Promise<Answer> {
  const { path, answer: reader } = exchange.row;
  if (reader.form !== "json") {
    // Whatever is in it: the document says only that none is described.
    stream.on("error", () => {}).resume();
    return reader.read().answer;
  }
  const { answer, faults } = decode(exchange, reader.read, status, await readText(stream, maxJsonBytes));
  for (const place of faults) onFault?.(path, place);
  return answer;
}

/** Longest part of a refusal that is read: enough for any message, far less than an HTML page may be. */
const LONGEST_REFUSAL = 64 * 1024;

function headersOf({ token, requestId }: Caller, body: string | null, form: string) {
  return {
    accept: form === "json" ? "application/json" : "*/*",
    "x-request-id": requestId,
    ...(token === null ? {} : { authorization: `token ${token}` }),
    ...(body === null ? {} : { "content-type": "application/json" }),
  };
}

function header(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** The same before anything was sent: then a command cannot have happened. */
const tooLate = (row: Row<never, unknown>, { signal }: Caller): Error =>
  isTimeout(signal.reason)
    ? new UpstreamError(
        "UPSTREAM_TIMEOUT",
        "The request's time was over before the service could be asked.",
        {
          upstream: { method: row.method, route: row.path },
        },
      )
    : new Cancelled("The caller left.");

/** Nobody is there to be told, or the whole request's time is over. */
const left = (row: Row<never, unknown>, { signal }: Caller): Error =>
  isTimeout(signal.reason) ? noAnswer(row, signal.reason) : new Cancelled("The caller left.");

async function readText(stream: Readable, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new TooLarge(`longer than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function decode<Answer>(
  { row }: Exchange<Answer>,
  read: (body: unknown) => Reading<Answer>,
  status: number,
  text: string,
): Reading<Answer> {
  const facts: UpstreamFacts = {
    upstream: { method: row.method, route: row.path, status },
    // The command was taken; only what came of it cannot be told.
    ...(row.method === "GET" ? {} : { outcome: "unknown" }),
  };
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    // The parser's own message quotes the body.
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's answer is no JSON.", facts);
  }
  try {
    return read(body);
  } catch (fault) {
    if (!(fault instanceof UpstreamError)) throw fault;
    throw new UpstreamError(fault.code, fault.message, facts);
  }
}
