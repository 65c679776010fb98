import type { Batch, Query, RunRead } from "../api/batches.ts";
import type { OperationBounds } from "../client/admission.ts";
import type { Client, ReadPart } from "../client/client.ts";
import type { Command, Get } from "../api/endpoint.ts";
import { type Exchanges, openExchanges, searchOf } from "./exchanges.ts";
import { createLoaders } from "./loaders.ts";
import type { AnyEndpoint, Server } from "../api/profile.ts";
import type { LearnedRefusals } from "./learned.ts";
import type { RequestScope } from "../../request-scope.ts";
import { type LogWindow, readWindow, type WindowRequest } from "./log-window.ts";

export interface SessionSettings extends OperationBounds {
  readonly server: Server;
  readonly refusals: LearnedRefusals;
}

export interface Wants {
  readonly query?: Query;
  /** What is needed of a run, when others of its kind may be read with it: then no more than that may come. */
  readonly part?: Omit<RunRead, "query">;
}

/** The reads and commands of one GraphQL request, for one caller. */
export interface Session {
  /** Whether lists take `limit` and `offset`. */
  readonly paging: boolean;
  /** Throws `UpstreamError` when the caller has no token: then nothing is sent. */
  readonly requireToken: () => void;
  /**
   * Reads a row. Whoever asks for the same address again shares the first answer, or the first error.
   * Rejects with `InputError` when a name cannot stand in a path, with `UpstreamError` otherwise.
   */
  read: <At, Answer>(row: Get<At, Answer>, at: At, wants?: Wants) => Promise<Answer>;
  /** Starts the request by which this server answers many reads of a row such as this one, if it has one. */
  readAhead: <At>(row: Get<At, unknown>, read: RunRead) => void;
  /** Reads part of a log, shared in the same way. */
  window: <At>(row: Get<At, undefined>, at: At, wanted: WindowRequest) => Promise<LogWindow>;
  /** Sends a command, once. What was read before is forgotten, also when it failed: it may have happened. */
  send: <At, Answer, Body>(row: Command<At, Answer, Body>, at: At, body: Body) => Promise<Answer>;
  /** The same request on behalf of somebody else, sharing nothing but the limits. */
  as: (token: string) => Session;
}

export function openSession(client: Client, scope: RequestScope, settings: SessionSettings): Session {
  const { server, refusals } = settings;
  const batchOf = (row: AnyEndpoint): Batch | null => {
    const batch = server.batchOf(row);
    return batch && !refusals.has(scope.party, batch) ? batch : null;
  };
  const forget = (exchanges: Exchanges) =>
    createLoaders(exchanges, { batchOf, refuse: (batch) => refusals.learn(scope.party, batch) });

  const sessionOf = (exchanges: Exchanges): Session => {
    let loaders = forget(exchanges);
    return {
      paging: server.paging,
      requireToken: exchanges.requireToken,
      // The casts are true because a loader belongs to one row, and a row has one type of answer.
      read: async <At, Answer>(row: Get<At, Answer>, at: At, { query, part }: Wants = {}) => {
        const address = row.toPath(at) + searchOf(query);
        const read = part ? { ...part, query } : null;
        const mayShare = read !== null && batchOf(row)?.common(read) != null;
        const start = (waiting: () => number) => exchanges.ask(row, at, { query, waiting });
        return (await loaders.share(row, { address, start, read: mayShare ? read : null })) as Answer;
      },
      readAhead: (row, read) => loaders.readAhead(row, read),
      window: async (row, at, wanted) => {
        const address = `${row.toPath(at)} ${JSON.stringify(wanted)}`;
        const readPart: ReadPart<LogWindow> = async ({ stream, contentType }, onHeld) => {
          const part = await readWindow(stream, contentType, wanted);
          onHeld(part.endByte - part.startByte);
          return part;
        };
        const start = (waiting: () => number) => exchanges.take(row, at, readPart, { waiting });
        return (await loaders.share(row, { address, start, read: null })) as LogWindow;
      },
      send: async (row, at, body) => {
        try {
          return await exchanges.send(row, at, body);
        } finally {
          loaders = forget(exchanges);
        }
      },
      as: (token) => sessionOf(exchanges.as(token)),
    };
  };

  return sessionOf(openExchanges(client.open(scope, settings), scope.token, server));
}
