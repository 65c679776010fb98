import type { Batch, RunRead } from "../api/batches.ts";
import type { AnyEndpoint, Command, Get } from "../api/endpoint.ts";
import { notOffered, type Server } from "../api/server.ts";
import type { OperationBounds } from "../client/admission.ts";
import type { Client } from "../client/client.ts";
import { UpstreamError } from "../../errors.ts";
import type { RequestScope } from "../../request-scope.ts";
import { createReads, type Pacing, type Read, type ReadOptions } from "./batching.ts";
import { type LogWindow, readWindow, type WindowRequest } from "./log-window.ts";
import type { RefusedBatches } from "./refused-batches.ts";

export interface SessionSettings extends OperationBounds {
  readonly server: Server;
  readonly refusedBatches: RefusedBatches;
  readonly pacing: Pacing;
}

export type Wants = Pick<ReadOptions, "query" | "part">;

/** Sends the reads and commands of one GraphQL request. */
export interface Session {
  readonly server: Server;
  /** Throws `UpstreamError` when the caller has no token. Nothing is sent then. */
  readonly requireToken: () => void;
  /**
   * Reads from an endpoint. Equal reads share one response or one error.
   * Rejects with `InputError` when a path parameter is invalid, and with `UpstreamError` when the request fails.
   */
  readonly read: <At, Answer>(endpoint: Get<At, Answer>, at: At, wants?: Wants) => Promise<Answer>;
  /** Prefetches the list that covers many reads like this one, if the server has one. */
  readonly prefetchList: <At>(endpoint: Get<At, unknown>, run: RunRead) => void;
  /** Reads part of a log. Equal reads share it. */
  readonly window: <At>(endpoint: Get<At, undefined>, at: At, window: WindowRequest) => Promise<LogWindow>;
  /** Sends a command, without retries. Clears the cache, even when it fails, because it may have been done. */
  readonly send: <At, Answer, Body>(
    endpoint: Command<At, Answer, Body>,
    at: At,
    body: Body,
  ) => Promise<Answer>;
  /** Opens a session with another token. Both share only the limits. */
  readonly as: (token: string) => Session;
}

export function openSession(
  client: Pick<Client, "open">,
  scope: RequestScope,
  settings: SessionSettings,
): Session {
  const { server, refusedBatches, pacing } = settings;
  const upstream = client.open(scope, settings);

  const batchOf = (endpoint: AnyEndpoint): Batch | null => {
    const batch = server.batchOf(endpoint);
    return batch && !refusedBatches.has(scope.callerKey, batch) ? batch : null;
  };

  const sessionOf = (token: string | null): Session => {
    const request = async ({ endpoint, path, window }: Read, waiting: () => number): Promise<unknown> => {
      const spelled = offered(server, endpoint);
      requireToken(token);
      const upstreamRequest = { endpoint: spelled, path, token, waiting };
      if (!window) return upstream.json(upstreamRequest);
      return upstream.readPart(upstreamRequest, async ({ stream, contentType }, hold) => {
        const part = await readWindow(stream, contentType, window);
        hold(part.endByte - part.startByte);
        return part;
      });
    };

    const openReads = () =>
      createReads({
        server,
        batchOf,
        request,
        onRefused: (batch) => refusedBatches.add(scope.callerKey, batch),
        pacing,
      });
    let reads = openReads();

    return {
      server,
      requireToken: () => requireToken(token),
      // Safe: an endpoint has one type of response, and its windows have another.
      read: <At, Answer>(endpoint: Get<At, Answer>, at: At, wants: Wants = {}) =>
        reads.load(endpoint, at, wants) as Promise<Answer>,
      prefetchList: (endpoint, run) => reads.prefetchList(endpoint, run),
      window: (endpoint, at, window) => reads.load(endpoint, at, { window }) as Promise<LogWindow>,
      send: async (endpoint, at, body) => {
        try {
          const spelled = offered(server, endpoint);
          if (!endpoint.anonymous) requireToken(token);
          return await upstream.json({
            endpoint: spelled,
            path: spelled.toPath(at),
            body: spelled.encode(body),
            secret: spelled.secretOf(body),
            token: endpoint.anonymous ? null : token,
          });
        } finally {
          reads = openReads();
        }
      },
      as: (other) => sessionOf(other),
    };
  };

  return sessionOf(scope.token);
}

function requireToken(token: string | null): void {
  if (token !== null) return;
  throw new UpstreamError(
    "UNAUTHENTICATED",
    "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
  );
}

/** The endpoint with the server's own path. Throws `UpstreamError` when the server does not offer it. */
export function offered<Endpoint extends AnyEndpoint>(server: Server, endpoint: Endpoint): Endpoint {
  if (server.lacks(endpoint)) throw notOffered("this");
  const spelled = server.override(endpoint);
  if (!spelled) {
    throw new UpstreamError(
      "UPSTREAM_UNSUPPORTED",
      `This server does not offer ${endpoint.method} ${endpoint.path}.`,
    );
  }
  return spelled;
}
