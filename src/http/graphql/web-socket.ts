import { type IncomingMessage, maxHeaderSize } from "node:http";
import type { Duplex } from "node:stream";
import { type ExecutionResult, type FormattedExecutionResult, parse } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { WebSocket, WebSocketServer } from "ws";
import type { Caller } from "../../callers/callers.ts";
import { InputError, statusOf, GatewayError } from "../../errors.ts";
import { RequestScope } from "../../callers/request-scope.ts";
import { type JsonScan, scanJson } from "../../rest/api/json-scan.ts";
import { openOperation, type GatewayDependencies } from "../operation.ts";
import { isAmong, type Origins } from "../request-target.ts";
import type { Permit } from "../admission.ts";
import { refuse } from "../server.ts";
import { heapOf, type ChargeHeap, jsonOf, toJson } from "./encoding.ts";
import { operate } from "./handler.ts";

/** Stands for every operation: the engine has read the document when `graphql-ws` reads its type. */
const READ = parse("subscription { read }");

/** How often a client is pinged, in milliseconds. One that has not answered until the next ping is disconnected. */
const PING_INTERVAL_MS = 10_000;

/** How long a client may take to close its connection, in milliseconds. The types of `ws` do not have it. */
const CLOSING = { closeTimeout: 2_000 };

/** Longest id of an operation, in characters: `graphql-ws` keeps it as long as the operation. */
const MAX_MESSAGE_ID_LENGTH = 1_000;

/** Mutations come by POST. */
const TRANSPORT = { isReadOnly: true, takesEvents: true, payloads: { isOlder: false }, status: null };

/** How long a client may have no subscription, in milliseconds. */
const IDLE_MS = 60_000;

/** Bytes that a client has not read above which nothing more is read from it. */
const MAX_UNREAD_BYTES = 65_536;

/** Memory of a message besides its bytes until it is sent: the frame, callbacks, entries of queues. */
const MESSAGE_OVERHEAD_BYTES = 1_000;

/** Bytes that are read at a time from which they count until a message is complete: a fragment keeps what was read with it in memory. */
const MIN_COUNTED_BYTES = 1_000;

/** The text that `graphql-ws` writes in front of the payload of a pong, and a pong without one. */
const PONG_START = '{"type":"pong",';
const PONG = '{"type":"pong"}';

/** Longest message, in bytes, without `"subscribe"` in it: of other types, tokens are the longest. */
const MAX_SHORT_MESSAGE_BYTES = 65_536;

/** Maximum subscribe messages without an answer. Above it nothing more is read from the client until some are answered. */
const MAX_UNANSWERED_SUBSCRIBES = 32;

/** Close codes after which clients connect again: elsewhere, later, or when they have something to subscribe to. */
const GOING_AWAY = 1_001;
const TRY_AGAIN_LATER = 1_013;
const NORMAL = 1_000;

/** The close code of `graphql-ws` for a message that cannot be used. */
const BAD_REQUEST = 4_400;

/** The WebSocket of a client: its permit, its flow control, and when it is idle. */
class Client extends WebSocket {
  /** The headers and the socket that count for its operations. */
  request!: Pick<IncomingMessage, "headers" | "socket">;
  /** The scan of the last message. */
  received!: JsonScan;
  #dependencies!: GatewayDependencies;
  #permit!: Permit;
  #unanswered = 0;
  /** Bytes of messages that are not handed to the operating system. */
  #unread = 0;
  /** Bytes that were read since the last message. */
  #received = 0;
  /** Messages that wait for a time slice. */
  #queued = 0;
  #waiting!: ReturnType<GatewayDependencies["responseWriter"]["openWaiting"]>;
  #cancelTimeout = () => {};
  /** Subscriptions, and subscribe messages that are not answered. */
  #used = 0;
  #cancelIdle = () => {};

  /** Opens a connection that holds a permit. */
  begin({ headers, socket }: IncomingMessage, permit: Permit, dependencies: GatewayDependencies): void {
    const { "x-request-id": _id, ...own } = headers;
    // Each operation has a request id of its own.
    this.request = { headers: own, socket };
    this.#dependencies = dependencies;
    this.#usePermit(permit);
    // Safe: so is the `binaryType` of a connection.
    this.on("message", (data) => void (this.received = scanJson(data as Buffer)));
    socket.prependListener("data", ({ length }: Buffer) => {
      if (length >= MIN_COUNTED_BYTES) this.#addReceived(length);
    });
    this.once("close", () => {
      this.#cancelIdle();
      this.#cancelTimeout();
      this.#permit.release();
      this.#waiting.close();
    });
    this.#becomeIdle();
  }

  #usePermit(permit: Permit): void {
    this.#permit = permit;
    this.#waiting = this.#dependencies.responseWriter.openWaiting(permit.caller, () => this.terminate());
  }

  /** Acquires a permit for the caller that `connection_init` names. Closes the connection if there is none. */
  moveTo(caller: Caller): boolean {
    // First, so that it cannot preempt itself.
    this.#permit.release();
    const permit = this.#dependencies.admission.socket.tryAcquire(caller);
    if (permit instanceof GatewayError) {
      this.close(TRY_AGAIN_LATER, permit.message);
      return false;
    }
    this.#waiting.close();
    this.#usePermit(permit);
    this.#waiting.count(this.#unread + this.#received);
    this.#becomeIdle();
    return true;
  }

  /** Records that a subscription begins. Returns a function that records its end, once. */
  use(): () => void {
    this.#used++;
    this.#cancelIdle();
    this.#permit.forbidPreemption();
    return () => {
      if (--this.#used === 0) this.#becomeIdle();
    };
  }

  /** Answers a subscribe message. While too many are unanswered, nothing more is read from the client. */
  async answering<Answer>(answer: () => Promise<Answer>): Promise<Answer> {
    this.#unanswered++;
    this.#controlFlow();
    try {
      return await answer();
    } finally {
      this.#unanswered--;
      this.#controlFlow();
    }
  }

  /** Reads from the client unless too much is unanswered or unread. */
  #controlFlow(): void {
    const isFull = this.#unanswered > MAX_UNANSWERED_SUBSCRIBES || this.#unread > MAX_UNREAD_BYTES;
    if (isFull || this.#queued > 0) this.pause();
    else this.resume();
  }

  /** Hands a message on in a time slice of its caller: a long one takes 20 ms to be parsed. */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "message") return super.emit(event, ...args);
    this.#addReceived(-this.#received);
    // Safe: so is the `binaryType` of a connection.
    const message = args[0] as Buffer;
    if (message.length > MAX_SHORT_MESSAGE_BYTES && !message.includes('"subscribe"')) {
      this.close(BAD_REQUEST, `Expected at most ${MAX_SHORT_MESSAGE_BYTES} bytes, or a subscribe message`);
      return true;
    }
    this.#queued++;
    this.#dependencies.scheduler.run(this.#permit.caller, () => {
      this.#queued--;
      if (this.readyState === this.OPEN) super.emit(event, ...args);
      this.#controlFlow();
    });
    if (this.#queued > 0) this.#controlFlow();
    return true;
  }

  #addReceived(bytes: number): void {
    this.#received += bytes;
    this.#waiting.count(bytes);
  }

  /**
   * Calls back when the message has been handed to the operating system, also where the client has gone, which `graphql-ws`
   * would write to the console. A client that reads none of its messages for a while is disconnected.
   */
  override send(message: string, done?: unknown): void {
    // It need not repeat the payload of its ping, which may be long.
    const text = message.startsWith(PONG_START) ? PONG : message;
    const bytes = Buffer.byteLength(text) + MESSAGE_OVERHEAD_BYTES;
    if (this.#unread === 0) this.#watchReader();
    this.#addUnread(bytes);
    super.send(text, () => {
      this.#addUnread(-bytes);
      this.#cancelTimeout();
      if (this.#unread > 0) this.#watchReader();
      if (typeof done === "function") done();
    });
  }

  #addUnread(bytes: number): void {
    this.#unread += bytes;
    this.#waiting.count(bytes);
    this.#controlFlow();
  }

  #watchReader(): void {
    const { clock, config } = this.#dependencies;
    this.#cancelTimeout = clock.after(config.READ_TIMEOUT_MS, () => this.terminate());
  }

  /** While nothing uses the connection, a new caller may preempt its permit, and it closes after a while. */
  #becomeIdle(): void {
    if (this.readyState !== this.OPEN) return;
    this.#permit.allowPreemption("idle", () => {
      this.close(TRY_AGAIN_LATER, "Others need the place");
      setImmediate(() => this.terminate());
    });
    this.#cancelIdle();
    this.#cancelIdle = this.#dependencies.clock.after(IDLE_MS, () => this.close(NORMAL, "Idle"));
  }
}

/** Accepts WebSockets at `/graphql`, for subscriptions and queries. `graphql-ws` speaks with their clients. */
export function createWebSockets(dependencies: GatewayDependencies) {
  const { schema, publicError, identify, admission, origins, config } = dependencies;
  const sockets = new WebSocketServer({
    noServer: true,
    WebSocket: Client,
    maxPayload: config.MAX_BODY_BYTES,
    // A fragment keeps what was read with it in memory, up to 64 kB such as pongs, and a packet some 300 bytes.
    maxFragments: Math.ceil(config.MAX_BODY_BYTES / 16_000),
    maxBufferedChunks: Math.ceil(config.MAX_BODY_BYTES / 250),
    perMessageDeflate: false,
    // One message a tick of the event loop: a client that sends many at once does not delay the others.
    allowSynchronousEvents: false,
    ...CLOSING,
  });

  useServer<Record<string, unknown>>(
    {
      isProd: true,
      onConnect: (connection) => {
        const { extra, connectionParams } = connection;
        const given = Object.entries(connectionParams ?? {}).find(
          ([name]) => name.toLowerCase() === "authorization",
        )?.[1];
        // `graphql-ws` would keep whatever the client has sent as long as it stays.
        Object.assign(connection, { connectionParams: undefined });
        if (typeof given !== "string") return true;
        const client = extra.socket as Client;
        if (given.length > maxHeaderSize) {
          client.close(BAD_REQUEST, `authorization: expected at most ${maxHeaderSize} characters`);
          return false;
        }
        const { headers, socket } = client.request;
        const { caller } = identify({ headers: { ...headers, authorization: given }, socket });
        const { authorization: _, ...others } = headers;
        client.request = {
          // Only the token is kept of what the client has sent.
          headers: caller.token === null ? others : { ...others, authorization: `token ${caller.token}` },
          socket,
        };
        return client.moveTo(caller);
      },
      onSubscribe: ({ extra, subscriptions }, id, { query, ...params }) => {
        const client = extra.socket as Client;
        // `graphql-ws` calls this in the tick of the message.
        const { received } = client;
        if (id.length > MAX_MESSAGE_ID_LENGTH)
          return [
            publicError(
              new InputError(`id: expected at most ${MAX_MESSAGE_ID_LENGTH} characters, got ${id.length}`),
            ),
          ];
        return client.answering(async () => {
          // Safe: only the headers and the socket of a request are read.
          const request = client.request as IncomingMessage;
          const scope = new RequestScope(identify(request), config.REQUEST_TIMEOUT_MS);
          const operation = openOperation(dependencies, request, scope);
          const end = client.use();
          // `graphql-ws` returns what stands here when the client completes it or leaves. The results follow.
          subscriptions[id] = leftBy(() => scope.end("disconnected"));
          // The protocol requires a text, also where a hash stands for the document.
          const given = { ...params, query: query === "" ? null : query };
          const read = (chargeMemory: ChargeHeap) => {
            chargeMemory(heapOf(received));
            return given;
          };
          const { messages, result } = await operation.run(() =>
            operate(dependencies, request, operation, read, TRANSPORT, end),
          );
          if (messages) return { schema, document: READ, contextValue: messages };
          operation.end(null);
          end();
          return result.data === undefined
            ? (result.errors ?? [])
            : { schema, document: READ, contextValue: jsonOf(result) };
        });
      },
      // Safe: `onSubscribe` returned it.
      subscribe: ({ contextValue }) => contextValue as AsyncIterableIterator<ExecutionResult>,
      // Safe: the protocol sends what it is given, and clients support incremental results.
      onNext: (_, _id, _payload, _args, message) => message as FormattedExecutionResult,
      onError: (_, _id, _payload, errors) => errors.map(toJson),
    },
    sockets,
    PING_INTERVAL_MS,
  );

  return {
    /** Accepts or rejects a connection. A listener for `upgrade` of `node:http`. */
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      const { url = "", headers } = request;
      socket.on("error", () => socket.destroy());
      if (url.split("?", 1)[0] !== "/graphql") return refuse(socket, 404);
      if (!isAllowed(headers.origin, headers.host, origins)) return refuse(socket, 403);
      const permit = admission.socket.tryAcquire(identify(request).caller);
      if (permit instanceof GatewayError) return refuse(socket, statusOf(permit.code));
      socket.once("close", () => permit.release());
      sockets.handleUpgrade(request, socket, head, (client) => {
        client.begin(request, permit, dependencies);
        sockets.emit("connection", client, request);
        // `graphql-ws` would write to the console what a client does wrong, such as a message that is too long.
        client.removeAllListeners("error").on("error", () => {});
      });
    },
    /** Closes all connections without completing their subscriptions, so that clients subscribe again elsewhere. */
    drain: (): void => {
      for (const client of sockets.clients) client.close(GOING_AWAY, "Going away");
    },
  };
}

/** Stands for results that are not there yet. Calls back when they are returned. */
const leftBy = (leave: () => void) => ({
  return: async () => leave(),
  [Symbol.asyncIterator]: (): never => {
    throw new TypeError("expected results, which are not there yet");
  },
});

/**
 * Whether a page of this origin may connect. Browsers apply no CORS to WebSockets. Programs send no origin. The scheme is
 * not compared: behind a proxy it is not known.
 */
const isAllowed = (origin: string | undefined, host: string | undefined, origins: Origins): boolean =>
  origin === undefined || isAmong(origins, origin) || (URL.canParse(origin) && new URL(origin).host === host);
