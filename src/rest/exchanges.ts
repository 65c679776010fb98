import pLimit from "p-limit";
import type { Query } from "./batches.ts";
import type { Answering, Caller, Client } from "./client.ts";
import type { Command, Get } from "./endpoint.ts";
import { UpstreamError } from "./errors.ts";
import type { AnyRow, Server } from "./profile.ts";

export interface ExchangeSettings {
  readonly server: Server;
  /** Most exchanges of one GraphQL request. */
  readonly maxExchanges: number;
  /** Most exchanges of one GraphQL request at a time. */
  readonly width: number;
}

/** What one GraphQL request may send to the service: rows as this server spells them, counted and bounded. */
export interface Exchanges {
  readonly ask: <At, Answer>(row: Get<At, Answer>, at: At, query?: Query) => Promise<Answer>;
  readonly take: <At, Part>(
    row: Get<At, undefined>,
    at: At,
    part: (answering: Answering) => Promise<Part>,
  ) => Promise<Part>;
  readonly send: <At, Answer, Body>(row: Command<At, Answer, Body>, at: At, body: Body) => Promise<Answer>;
  /** The same on behalf of somebody else, within the same bounds. */
  readonly as: (token: string) => Exchanges;
}

export function openExchanges(client: Client, caller: Caller, settings: ExchangeSettings): Exchanges {
  const limit = pLimit(settings.width);
  let spent = 0;

  const spend = async <Row extends AnyRow, Answer>(
    row: Row,
    who: Caller,
    act: (spelled: Row) => Promise<Answer>,
  ): Promise<Answer> => {
    const spelled = offered(settings.server, row);
    if (who.token === null && !isAnonymous(row)) {
      throw new UpstreamError(
        "UNAUTHENTICATED",
        "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
      );
    }
    return limit(() => {
      if (++spent > settings.maxExchanges) {
        throw new UpstreamError(
          "REQUEST_LIMIT_EXCEEDED",
          `This operation needs more than ${settings.maxExchanges} requests to the service; ask for less at once.`,
        );
      }
      return act(spelled);
    });
  };

  const exchangesOf = (who: Caller): Exchanges => ({
    ask: (row, at, query) =>
      spend(row, who, (spelled) =>
        client.ask({ row: spelled, path: spelled.fill(at) + searchOf(query) }, who),
      ),
    take: (row, at, part) =>
      spend(row, who, (spelled) => client.take({ row: spelled, path: spelled.fill(at) }, who, part)),
    send: (row, at, body) =>
      spend(row, who, (spelled) =>
        client.ask(
          {
            row: spelled,
            path: spelled.fill(at),
            body: spelled.encode(body),
            secret: spelled.secretOf(body),
          },
          row.anonymous ? { ...who, token: null } : who,
        ),
      ),
    as: (token) => exchangesOf({ ...who, token }),
  });
  return exchangesOf(caller);
}

const isAnonymous = (row: AnyRow) => "anonymous" in row && row.anonymous;

/** The row as the server spells it. Throws `UpstreamError` when the server does not have it. */
export function offered<Row extends AnyRow>(server: Server, row: Row): Row {
  if (server.isBeyond(row)) {
    throw new UpstreamError(
      "CAPABILITY_UNAVAILABLE",
      "The server behind this gateway does not offer this. `gateway.capabilities` tells what there is.",
    );
  }
  const spelled = server.spell(row);
  if (!spelled) {
    throw new UpstreamError("UPSTREAM_UNSUPPORTED", `This server does not offer ${row.method} ${row.path}.`);
  }
  return spelled;
}

export function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? "" : `?${search}`;
}
