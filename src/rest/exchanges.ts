import type { Query } from "./batches.ts";
import type { ReadPart, Upstream } from "./client.ts";
import type { Command, Get } from "./endpoint.ts";
import { UpstreamError } from "./errors.ts";
import type { AnyRow, Server } from "./profile.ts";

export interface ExchangeSettings {
  readonly server: Server;
  /** Most exchanges of one GraphQL request. */
  readonly maxExchanges: number;
}

/** What one GraphQL request may send to the service: rows as this server spells them, counted and bounded. */
export interface Exchanges {
  readonly ask: <At, Answer>(row: Get<At, Answer>, at: At, query?: Query) => Promise<Answer>;
  readonly take: <At, Part>(row: Get<At, undefined>, at: At, read: ReadPart<Part>) => Promise<Part>;
  readonly send: <At, Answer, Body>(row: Command<At, Answer, Body>, at: At, body: Body) => Promise<Answer>;
  /** The same on behalf of somebody else, within the same bounds. */
  readonly as: (token: string) => Exchanges;
}

export function openExchanges(
  upstream: Upstream,
  token: string | null,
  settings: ExchangeSettings,
): Exchanges {
  let spent = 0;

  /** The row as this server spells it, when the caller may ask for it and the budget allows. */
  const spend = <Row extends AnyRow>(row: Row, as: string | null): Row => {
    const spelled = offered(settings.server, row);
    if (as === null && !isAnonymous(row)) {
      throw new UpstreamError(
        "UNAUTHENTICATED",
        "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
      );
    }
    if (++spent > settings.maxExchanges) {
      throw new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This operation needs more than ${settings.maxExchanges} requests to the service; ask for less at once.`,
      );
    }
    return spelled;
  };

  const exchangesOf = (as: string | null): Exchanges => ({
    ask: async (row, at, query) => {
      const spelled = spend(row, as);
      return upstream.json({ row: spelled, path: spelled.fill(at) + searchOf(query), token: as });
    },
    take: async (row, at, read) => {
      const spelled = spend(row, as);
      return upstream.readPart({ row: spelled, path: spelled.fill(at), token: as }, read);
    },
    send: async (row, at, body) => {
      const spelled = spend(row, as);
      return upstream.json({
        row: spelled,
        path: spelled.fill(at),
        body: spelled.encode(body),
        secret: spelled.secretOf(body),
        token: row.anonymous ? null : as,
      });
    },
    as: (other) => exchangesOf(other),
  });
  return exchangesOf(token);
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
