import type { RunRead } from "../api/batch-rules.ts";
import type { Command, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import type { Client, ReadChunk } from "../client/client.ts";
import type { Requester, RequestLimits } from "../client/upstream-call.ts";
import type { RequestScope } from "../../callers/request-scope.ts";
import { noToken } from "../client/failure.ts";
import { BatchLoader, type BatchSettings, type ReadOptions } from "./batch-loader.ts";
import { type LogWindow, readWindow, type WindowRequest } from "./log-window.ts";
import { LargePages } from "./large-pages.ts";
import type { Read, ReadContext } from "./shared-read.ts";
import type { CallerReadCache, ReadCache } from "./read-cache.ts";

export type SharedSettings = BatchSettings["shared"] & { readonly reads: ReadCache };

export interface SessionSettings extends BatchSettings, Pick<ReadContext, "bypassesCache"> {
  readonly shared: SharedSettings;
  readonly bounds: RequestLimits;
}

export type Wants = Pick<ReadOptions, "query" | "part">;

/** Sends the reads and commands of one GraphQL request. */
export type Session = Pick<TokenSession, keyof TokenSession>;

export type SessionClient = ReadContext["client"] & Pick<Client, "open">;

export function openSession(client: SessionClient, scope: RequestScope, settings: SessionSettings): Session {
  return new TokenSession(client, client.open(scope, settings.bounds), settings, scope.token);
}

class TokenSession {
  readonly server: Server;
  readonly largePages: LargePages;
  readonly #context: ReadContext;
  readonly #own: CallerReadCache;
  readonly #settings: SessionSettings;
  #batchLoader: BatchLoader;

  constructor(
    client: ReadContext["client"],
    requester: Requester,
    settings: SessionSettings,
    token: string | null,
  ) {
    const { bypassesCache } = settings;
    const { server, reads } = settings.shared;
    const { scope } = requester;
    this.server = server;
    this.#own = reads.own.of(scope.caller);
    // The read cache belongs to the caller, that is, to the token of the request. With another token nothing is shared.
    const shared = token === scope.token ? this.#own : null;
    const largePages = (this.largePages = shared?.largePages ?? new LargePages());
    const started: Read[] = [];
    this.#context = { client, requester, token, shared, bypassesCache, largePages, started };
    this.#settings = settings;
    this.#batchLoader = new BatchLoader(this.#context, settings);
    scope.onEnd(() => {
      for (const read of started) read.leave();
    });
  }

  /** Throws `GatewayError` if the caller has no token. Nothing is sent then. */
  requireToken(): void {
    if (this.#context.token === null) throw noToken();
  }

  /**
   * Reads from an endpoint. Equal reads share one response or one error, also across operations with the same token. Rejects with
   * `InputError` if a path parameter is invalid, and with `GatewayError` if the request fails.
   */
  // Safe: equal reads have one type of response, and windows have separate keys.
  read<At, Answer>(endpoint: Get<At, Answer>, at: At, wants: Wants = {}): Promise<Answer> {
    return this.#batchLoader.load(endpoint, at, wants) as Promise<Answer>;
  }

  /** Prefetches the list that covers many reads like this one, if the server has one. */
  prefetchList<At>(endpoint: Get<At, unknown>, run: RunRead): void {
    this.#batchLoader.prefetchList(endpoint, run);
  }

  /** Reads part of a log. Equal reads share it. */
  window<At>(endpoint: Get<At, undefined>, at: At, request: WindowRequest): Promise<LogWindow> {
    const window = { key: JSON.stringify(request), read: partOf(request) };
    return this.#batchLoader.load(endpoint, at, { window }) as Promise<LogWindow>;
  }

  /** Sends a command, without retries. Later reads send new requests even if it fails, because the service may have executed it. */
  async send<At, Answer, Body>(endpoint: Command<At, Answer, Body>, at: At, body: Body): Promise<Answer> {
    const { client, requester, token } = this.#context;
    try {
      const supported = this.server.supported(endpoint);
      if (!endpoint.anonymous) this.requireToken();
      const request = {
        endpoint: supported,
        path: supported.toPath(at),
        body: supported.encode(body),
        secret: supported.secretOf(body),
        token: endpoint.anonymous ? null : token,
        traceEntry: this.#settings.operationTrace?.openCommand() ?? null,
      };
      return await client.command({ request, requester, consumer: requester });
    } finally {
      this.#batchLoader = new BatchLoader(this.#context, this.#settings);
      this.endSharing();
    }
  }

  /** The time by the clock of the upstream service, in milliseconds since 1970. */
  upstreamTime(): number {
    return this.#context.client.upstreamTime();
  }

  /** The login name of the user of the token, if the upstream service has returned it before; otherwise null. */
  knownViewer(): string | null {
    return this.#context.shared?.viewer ?? null;
  }

  /** Records the login name of the user of the token; null if there is none. Ends the sharing if the user has changed. */
  learnViewer(username: string | null): void {
    const { shared } = this.#context;
    if (!shared) return;
    if (username === null || username !== (shared.viewer ?? username)) shared.endSharing();
    shared.viewer = username;
  }

  /** Ends the sharing with other operations of the caller. Reads that start later send new requests. */
  endSharing(): void {
    this.#own.endSharing();
  }

  /** Opens a session with another token. The two sessions share only the limits. */
  as(token: string): Session {
    const { client, requester } = this.#context;
    return new TokenSession(client, requester, this.#settings, token);
  }
}

const partOf =
  (window: WindowRequest): ReadChunk<LogWindow> =>
  async (response, account) => {
    const chunk = await readWindow(response, window, account);
    if (chunk.rest) response.keep();
    return { chunk, bytes: chunk.endByte - chunk.startByte };
  };

/** Runs `act` for a response path. `isAhead`: the path is prefetched. */
export type ForPath = <Value>(act: () => Value, isAhead?: boolean) => Value;

/** A session that attributes its reads and commands to one response path in the trace. */
export const sessionFor = (session: Session, forPath: ForPath): Session => ({
  server: session.server,
  largePages: session.largePages,
  requireToken: () => session.requireToken(),
  read: (endpoint, at, wants) => forPath(() => session.read(endpoint, at, wants)),
  prefetchList: (endpoint, run) => forPath(() => session.prefetchList(endpoint, run), true),
  window: (endpoint, at, window) => forPath(() => session.window(endpoint, at, window)),
  send: (endpoint, at, body) => forPath(() => session.send(endpoint, at, body)),
  upstreamTime: () => session.upstreamTime(),
  knownViewer: () => session.knownViewer(),
  learnViewer: (username) => session.learnViewer(username),
  endSharing: () => session.endSharing(),
  as: (token) => sessionFor(session.as(token), forPath),
});
