import { type IncomingMessage, maxHeaderSize } from "node:http";
import type { Duplex } from "node:stream";
import { type ExecutionResult, type FormattedExecutionResult, parse } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { WebSocket, WebSocketServer } from "ws";
import type { Caller } from "../../callers/callers.ts";
import { InputError, statusOf, GatewayError } from "../../errors.ts";
import { RequestScope } from "../../callers/request-scope.ts";
import { type JsonScan, scanJson } from "../../rest/api/json-scan.ts";
import { openOperation } from "../operation.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { mayConnect } from "../request-target.ts";
import type { Permit } from "../admission.ts";
import { PATHS, pathOf } from "../paths.ts";
import { refuse } from "../server.ts";
import { jsonOf, toJson } from "./encoding.ts";
import { heapOf, type ChargeHeap } from "./request-params.ts";
import { executeRequest } from "./handler.ts";

/** The document that is passed to `graphql-ws` for every operation, because the engine has already executed the real document. */
const PLACEHOLDER_DOCUMENT = parse("subscription { read }");

/** How often a client is pinged, in milliseconds. A client that has not answered by the next ping is disconnected. */
const PING_INTERVAL_MS = 10_000;

/** How long a client may take to close its connection, in milliseconds. The types of `ws` lack this option. */
const CLOSING = { closeTimeout: 2_000 };

/** Maximum length of the id of an operation, in characters: `graphql-ws` keeps the id as long as the operation. */
const MAX_MESSAGE_ID_LENGTH = 1_000;

/** The capabilities of a WebSocket. Mutations are sent by POST only. */
const TRANSPORT = { isReadOnly: true, takesEvents: true, payloads: { isOlder: false }, status: null };

/** How long a client may stay connected without a subscription, in milliseconds. */
const IDLE_MS = 60_000;

/** Maximum bytes that a client has not read. Above the limit the gateway reads nothing more from the client. */
const MAX_UNREAD_BYTES = 65_536;

/** Memory of an unsent message in addition to its text, in bytes: the frame, callbacks and queue entries. */
const MESSAGE_OVERHEAD_BYTES = 1_000;

/**
 * Minimum size of a read from the socket that is counted, in bytes. Received bytes count until their message is complete, because a
 * fragment of a message keeps the whole buffer of its read in memory.
 */
const MIN_COUNTED_BYTES = 1_000;

/** The text before the payload in a pong of `graphql-ws`. `PONG`: a pong without a payload. */
const PONG_START = '{"type":"pong",';
const PONG = '{"type":"pong"}';

/** Maximum length of a message that does not contain `"subscribe"`, in bytes. The longest content of such messages is a token. */
const MAX_SHORT_MESSAGE_BYTES = 65_536;

/** Maximum unanswered subscribe messages. Above the limit the gateway reads nothing more from the client until some are answered. */
const MAX_UNANSWERED_SUBSCRIBES = 32;

/** Close codes after which clients connect again: to another replica, later, or for their next subscription. */
const GOING_AWAY = 1_001;
const TRY_AGAIN_LATER = 1_013;
const NORMAL = 1_000;

/** The close code of `graphql-ws` for a message that cannot be used. */
const BAD_REQUEST = 4_400;

/** The WebSocket of a client, with its permit, flow control and idle timeout. */
class Client extends WebSocket {
  /** The headers and the socket that the operations of the client use as their request. */
  request!: Pick<IncomingMessage, "headers" | "socket">;
  /** The scan of the last message. */
  received!: JsonScan;
  #dependencies!: GatewayDependencies;
  #permit!: Permit;
  #unanswered = 0;
  /** Bytes of messages that have not been passed to the operating system yet. */
  #unread = 0;
  /** Bytes that were received since the last message. */
  #received = 0;
  /** Messages that wait for a time slice, and the bytes in which they were received. */
  #queued: { readonly args: readonly unknown[]; readonly bytes: number }[] = [];
  #waiting!: ReturnType<GatewayDependencies["responseWriter"]["openAccount"]>;
  #cancelTimeout = () => {};
  /** Number of subscriptions and unanswered subscribe messages. */
  #used = 0;
  #cancelIdle = () => {};

  begin(request: Client["request"], permit: Permit, dependencies: GatewayDependencies): void {
    this.request = request;
    this.#dependencies = dependencies;
    this.#usePermit(permit);
    // Safe: the default `binaryType` of a connection makes each message a buffer.
    this.on("message", (data) => void (this.received = scanJson(data as Buffer)));
    request.socket.prependListener("data", ({ length }: Buffer) => {
      if (length >= MIN_COUNTED_BYTES) this.#addReceived(length);
    });
    this.once("close", () => {
      this.#queued = [];
      this.#cancelIdle();
      this.#cancelTimeout();
      this.#permit.release();
      this.#waiting.close();
    });
    this.#becomeIdle();
  }

  #usePermit(permit: Permit): void {
    this.#permit = permit;
    this.#waiting = this.#dependencies.responseWriter.openAccount(permit.caller, () => this.terminate());
  }

  /** Acquires a permit for the caller that `connection_init` names. Closes the connection if no permit is available. */
  moveTo(caller: Caller): boolean {
    // The old permit is released first, so that the connection cannot preempt itself.
    this.#permit.release();
    const permit = this.#dependencies.admission.socket.tryAcquire(caller);
    if (permit instanceof GatewayError) {
      this.close(TRY_AGAIN_LATER, permit.message);
      return false;
    }
    this.#waiting.close();
    this.#usePermit(permit);
    this.#waiting.count(this.#queued.reduce((sum, { bytes }) => sum + bytes, this.#unread + this.#received));
    this.#becomeIdle();
    return true;
  }

  /** Records that a subscription begins. Returns a function that records its end and must be called once. */
  use(): () => void {
    this.#used++;
    this.#cancelIdle();
    this.#permit.forbidPreemption();
    return () => {
      if (--this.#used === 0) this.#becomeIdle();
    };
  }

  /** Answers a subscribe message. While too many subscribe messages are unanswered, the gateway reads nothing more from the client. */
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

  /** Pauses reading from the client while too much is unanswered or unread, or a message waits for a time slice; otherwise resumes it. */
  #controlFlow(): void {
    const isFull = this.#unanswered > MAX_UNANSWERED_SUBSCRIBES || this.#unread > MAX_UNREAD_BYTES;
    if (isFull || this.#queued.length > 0) this.pause();
    else this.resume();
  }

  /** Passes a message on in a time slice of the caller, because parsing a long message takes 20 ms. Its bytes count until then. */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "message") return super.emit(event, ...args);
    const bytes = this.#received;
    this.#received = 0;
    // Safe, as above: a message is a buffer.
    const message = args[0] as Buffer;
    if (message.length > MAX_SHORT_MESSAGE_BYTES && !message.includes('"subscribe"')) {
      this.close(BAD_REQUEST, `Expected at most ${MAX_SHORT_MESSAGE_BYTES} bytes, or a subscribe message`);
      return true;
    }
    this.#queued.push({ args, bytes });
    this.#dependencies.scheduler.run(this.#permit.caller, () => {
      const next = this.#queued.shift();
      if (!next) return;
      this.#waiting.count(-next.bytes);
      if (this.readyState === this.OPEN) super.emit(event, ...next.args);
      this.#controlFlow();
    });
    if (this.#queued.length > 0) this.#controlFlow();
    return true;
  }

  #addReceived(bytes: number): void {
    this.#received += bytes;
    this.#waiting.count(bytes);
  }

  /**
   * Calls back when the message has been passed to the operating system, or the client has disconnected. Passes no error to the callback,
   * because `graphql-ws` would write it to the console. Disconnects a client that reads none of its messages for a while.
   */
  override send(message: string, done?: unknown): void {
    // A pong need not repeat the payload of its ping, which may be long.
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

  /** Allows a new caller to preempt the permit of the unused connection, and closes the connection after a while. */
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

/** Accepts WebSockets at `/graphql`, for subscriptions and queries. `graphql-ws` implements the protocol. */
export function createWebSockets(dependencies: GatewayDependencies) {
  const { schema, publicError, resolveIdentity, admission, origins, config } = dependencies;
  const sockets = new WebSocketServer({
    noServer: true,
    WebSocket: Client,
    maxPayload: config.MAX_BODY_BYTES,
    // A fragment keeps the buffer of its read in memory: up to 64 kB, with other frames such as pongs. A chunk takes about 300 bytes.
    maxFragments: Math.ceil(config.MAX_BODY_BYTES / 16_000),
    maxBufferedChunks: Math.ceil(config.MAX_BODY_BYTES / 250),
    perMessageDeflate: false,
    // `ws` passes on one message per tick of the event loop, so that a client with a burst of messages does not delay other clients.
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
        // `graphql-ws` would keep the parameters of the client as long as the connection is open.
        Object.assign(connection, { connectionParams: undefined });
        if (typeof given !== "string") return true;
        const client = extra.socket as Client;
        if (given.length > maxHeaderSize) {
          client.close(BAD_REQUEST, `authorization: expected at most ${maxHeaderSize} characters`);
          return false;
        }
        const { headers, socket } = client.request;
        const { caller } = resolveIdentity({ headers: { ...headers, authorization: given }, socket });
        const { authorization: _, ...others } = headers;
        client.request = {
          // The connection keeps only the token, and no other parameter.
          headers: caller.token === null ? others : { ...others, authorization: `token ${caller.token}` },
          socket,
        };
        return client.moveTo(caller);
      },
      onSubscribe: ({ extra, subscriptions }, id, { query, ...params }) => {
        const client = extra.socket as Client;
        // Safe: `graphql-ws` calls `onSubscribe` in the same tick as the message, so the last scan is the scan of this message.
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
          const scope = new RequestScope(resolveIdentity(request), config.REQUEST_TIMEOUT_MS);
          const operation = openOperation(dependencies, request, scope);
          const end = client.use();
          // `graphql-ws` calls `return` of this entry when the client completes the operation or disconnects. The results replace the entry.
          subscriptions[id] = leftBy(() => scope.end("disconnected"));
          // The protocol requires a string even if the request names its document by a hash.
          const given = { ...params, query: query === "" ? null : query };
          const read = (chargeMemory: ChargeHeap) => {
            chargeMemory(heapOf(received));
            return given;
          };
          const { messages, result } = await operation.run(() =>
            executeRequest(dependencies, request, operation, read, TRANSPORT, end),
          );
          if (messages) return { schema, document: PLACEHOLDER_DOCUMENT, contextValue: messages };
          operation.end(null);
          end();
          return result.data === undefined
            ? (result.errors ?? [])
            : { schema, document: PLACEHOLDER_DOCUMENT, contextValue: jsonOf(result) };
        });
      },
      // Safe: `onSubscribe` has set the context value.
      subscribe: ({ contextValue }) => contextValue as AsyncIterableIterator<ExecutionResult>,
      // Safe: `graphql-ws` sends the message unchanged, and its clients support incremental results.
      onNext: (_, _id, _payload, _args, message) => message as FormattedExecutionResult,
      onError: (_, _id, _payload, errors) => errors.map(toJson),
    },
    sockets,
    PING_INTERVAL_MS,
  );
  let isDraining = false;

  return {
    /** Accepts or rejects a connection. A listener for `upgrade` of `node:http`. */
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      // The callbacks keep only this part of the request while the connection is open. Each operation has its own request id.
      const { "x-request-id": _id, ...headers } = request.headers;
      const kept = { headers, socket: request.socket };
      socket.on("error", () => socket.destroy());
      if (pathOf(request) !== PATHS.graphql) return refuse(socket, 404);
      if (!mayConnect(headers.origin, headers.host, origins)) return refuse(socket, 403);
      const permit = admission.socket.tryAcquire(resolveIdentity(request).caller);
      if (permit instanceof GatewayError) return refuse(socket, statusOf(permit.code));
      socket.once("close", () => permit.release());
      sockets.handleUpgrade(request, socket, head, (client) => {
        client.begin(kept, permit, dependencies);
        sockets.emit("connection", client, kept);
        // `graphql-ws` would write errors of the client, such as a message that is too long, to the console.
        client.removeAllListeners("error").on("error", () => {});
        // Clients treat a rejected handshake as an error. After this close code, they connect again.
        if (isDraining) client.close(GOING_AWAY, "Going away");
      });
    },
    /** Closes all connections, and later ones as they open, without completing subscriptions, so that clients subscribe elsewhere. */
    drain: (): void => {
      isDraining = true;
      for (const client of sockets.clients) client.close(GOING_AWAY, "Going away");
    },
  };
}

/** A placeholder for results that are not available yet. Calls back when `return` is called. */
const leftBy = (leave: () => void) => ({
  return: async () => leave(),
  [Symbol.asyncIterator]: (): never => {
    throw new TypeError("expected results, which are not there yet");
  },
});
