import type { RunRead } from "../api/batches.ts";
import type { Command, Get } from "../api/endpoint.ts";
import type { Server } from "../api/server.ts";
import type { OperationBounds } from "../client/admission.ts";
import type { Demand } from "../client/bulkhead.ts";
import type { Client, ReadPart, Upstream } from "../client/client.ts";
import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { type Pacing, type ReadOptions, Reads } from "./batching.ts";
import type { Read } from "./read.ts";
import { type LogWindow, readWindow, type WindowRequest } from "./log-window.ts";
import type { SessionNotes } from "./notes.ts";
import type { RefusedBatches } from "./refused-batches.ts";
import type { Sharer } from "./shared-read.ts";
import type { SharedReads } from "./shared-reads.ts";

/** What the sessions of a gateway share. */
export interface SharedSettings {
  readonly server: Server;
  readonly refusedBatches: RefusedBatches;
  readonly sharedReads: SharedReads;
}

export interface SessionSettings {
  readonly shared: SharedSettings;
  readonly bounds: OperationBounds;
  /** Whether every read sends its own request. Such reads need not have the time for retries that others expect. */
  readonly isFresh: boolean;
  readonly pacing: Pacing;
  /** Notes what the operation costs; null unless it is explained. */
  readonly notes: SessionNotes | null;
}

export type Wants = Pick<ReadOptions, "query" | "part">;

/** Sends the reads and commands of one GraphQL request. */
export interface Session {
  readonly server: Server;
  /** Throws `UpstreamError` when the caller has no token. Nothing is sent then. */
  readonly requireToken: () => void;
  /**
   * Reads from an endpoint. Equal reads share one response or one error, also with other operations of the token.
   * Rejects with `InputError` when a path parameter is invalid, and with `UpstreamError` when the request fails.
   */
  readonly read: <At, Answer>(endpoint: Get<At, Answer>, at: At, wants?: Wants) => Promise<Answer>;
  /** Prefetches the list that covers many reads like this one, if the server has one. */
  readonly prefetchList: <At>(endpoint: Get<At, unknown>, run: RunRead) => void;
  /** Reads part of a log. Equal reads share it. */
  readonly window: <At>(endpoint: Get<At, undefined>, at: At, window: WindowRequest) => Promise<LogWindow>;
  /**
   * Sends a command, without retries. What starts after it reads anew, even when it fails, because it may have been done.
   */
  readonly send: <At, Answer, Body>(
    endpoint: Command<At, Answer, Body>,
    at: At,
    body: Body,
  ) => Promise<Answer>;
  /** Ends the sharing with other operations of the caller: what starts from now on reads anew. */
  readonly cut: () => void;
  /** Opens a session with another token. Both share only the limits. */
  readonly as: (token: string) => Session;
}

export function openSession(
  client: Pick<Client, "open">,
  scope: RequestScope,
  settings: SessionSettings,
): Session {
  return new TokenSession(client.open(scope, settings.bounds), scope, settings, scope.token);
}

class TokenSession implements Session {
  readonly server: Server;
  readonly #upstream: Upstream;
  readonly #scope: RequestScope;
  readonly #settings: SessionSettings;
  readonly #token: string | null;
  #reads: Reads;

  constructor(upstream: Upstream, scope: RequestScope, settings: SessionSettings, token: string | null) {
    this.server = settings.shared.server;
    this.#upstream = upstream;
    this.#scope = scope;
    this.#settings = settings;
    this.#token = token;
    this.#reads = this.#openReads();
  }

  requireToken(): void {
    requireToken(this.#token);
  }

  // Safe, as below: an endpoint has one type of response, and its windows have another.
  read<At, Answer>(endpoint: Get<At, Answer>, at: At, wants: Wants = {}): Promise<Answer> {
    return this.#reads.load(endpoint, at, wants) as Promise<Answer>;
  }

  prefetchList<At>(endpoint: Get<At, unknown>, run: RunRead): void {
    this.#reads.prefetchList(endpoint, run);
  }

  window<At>(endpoint: Get<At, undefined>, at: At, window: WindowRequest): Promise<LogWindow> {
    return this.#reads.load(endpoint, at, { window }) as Promise<LogWindow>;
  }

  async send<At, Answer, Body>(endpoint: Command<At, Answer, Body>, at: At, body: Body): Promise<Answer> {
    try {
      const spelled = this.server.offered(endpoint);
      if (!endpoint.anonymous) requireToken(this.#token);
      const request = {
        endpoint: spelled,
        path: spelled.toPath(at),
        body: spelled.encode(body),
        secret: spelled.secretOf(body),
        token: endpoint.anonymous ? null : this.#token,
        note: this.#settings.notes?.openCommand() ?? null,
      };
      return await new Promise((resolve, reject) =>
        this.#upstream.json(request, { succeeded: resolve, failed: reject }),
      );
    } finally {
      this.#reads = this.#openReads();
      this.cut();
    }
  }

  cut(): void {
    this.#settings.shared.sharedReads.cut(this.#scope.caller.key);
  }

  as(token: string): Session {
    return new TokenSession(this.#upstream, this.#scope, this.#settings, token);
  }

  #openReads(): Reads {
    const { shared, pacing, notes } = this.#settings;
    const { server, refusedBatches } = shared;
    const { key: callerKey } = this.#scope.caller;
    return new Reads({
      server,
      batchOf: (endpoint) => {
        const batch = server.batchOf(endpoint);
        return batch && !refusedBatches.has(callerKey, batch) ? batch : null;
      },
      send: (read, demand) => this.#send(read, demand),
      onRefused: (batch) => refusedBatches.add(callerKey, batch),
      pacing,
      notes: notes?.openReads() ?? null,
    });
  }

  #send(read: Read, demand: Demand): void {
    const { note, resolve, reject } = read;
    const { endpoint, path, window, key } = read.address;
    const { shared, isFresh } = this.#settings;
    const { sharedReads } = shared;
    const upstream = this.#upstream;
    const scope = this.#scope;
    const token = this.#token;
    try {
      requireToken(token);
      const spelled = this.server.offered(endpoint);
      const send: Sharer["send"] = (sharedDemand, outcome) => {
        const request = { endpoint: spelled, path, token, demand: sharedDemand, note };
        if (window) upstream.readPart(request, partOf(window), outcome);
        else upstream.json(request, outcome);
      };
      // The key of the caller is that of the token of its request, and of no other.
      if (token !== scope.token) return send(demand, { succeeded: resolve, failed: reject });
      const { hold } = upstream;
      const sharer: Sharer = { endpoint, key, scope, demand, note, send, hold, resolve, reject };
      if (isFresh) sharedReads.readAnew(scope.caller.key, sharer);
      else sharedReads.read(scope.caller.key, sharer);
    } catch (error) {
      reject(error);
    }
  }
}

/** Reads a window and counts its bytes. */
const partOf =
  (window: WindowRequest): ReadPart<LogWindow> =>
  async (response, hold) => {
    const part = await readWindow(response, window);
    hold(part.endByte - part.startByte);
    if (part.rest) response.keep();
    return part;
  };

function requireToken(token: string | null): void {
  if (token !== null) return;
  throw new UpstreamError(
    "UNAUTHENTICATED",
    "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
  );
}
