import type { Query } from "../api/batches.ts";
import type { ReadPart, Upstream } from "../client/client.ts";
import type { Command, Get } from "../api/endpoint.ts";
import { UpstreamError } from "../../errors.ts";
import type { AnyEndpoint, Server } from "../api/profile.ts";

/** What goes with a read beside its row and address. */
interface ReadOptions {
  readonly query?: Query | undefined;
  /** How many places of the answer wait for it, at the moment of asking: the more, the sooner it goes. */
  readonly waiting?: () => number;
}

/** What one GraphQL request may send to the service: rows as this server spells them. */
export interface Exchanges {
  /** Throws `UpstreamError` when there is no token to send. */
  readonly requireToken: () => void;
  readonly ask: <At, Answer>(row: Get<At, Answer>, at: At, options?: ReadOptions) => Promise<Answer>;
  readonly take: <At, Part>(
    row: Get<At, undefined>,
    at: At,
    read: ReadPart<Part>,
    options?: ReadOptions,
  ) => Promise<Part>;
  readonly send: <At, Answer, Body>(row: Command<At, Answer, Body>, at: At, body: Body) => Promise<Answer>;
  /** The same on behalf of somebody else, within the same bounds. */
  readonly as: (token: string) => Exchanges;
}

export function openExchanges(upstream: Upstream, token: string | null, server: Server): Exchanges {
  /** The row as this server spells it, when the caller may ask for it. */
  const allowed = <Row extends AnyEndpoint>(row: Row, as: string | null): Row => {
    const spelled = offered(server, row);
    if (!isAnonymous(row)) requireToken(as);
    return spelled;
  };

  const exchangesOf = (as: string | null): Exchanges => ({
    requireToken: () => requireToken(as),
    ask: async (row, at, { query, waiting } = {}) => {
      const spelled = allowed(row, as);
      return upstream.json({ row: spelled, path: spelled.toPath(at) + searchOf(query), token: as, waiting });
    },
    take: async (row, at, read, { waiting } = {}) => {
      const spelled = allowed(row, as);
      return upstream.readPart({ row: spelled, path: spelled.toPath(at), token: as, waiting }, read);
    },
    send: async (row, at, body) => {
      const spelled = allowed(row, as);
      return upstream.json({
        row: spelled,
        path: spelled.toPath(at),
        body: spelled.encode(body),
        secret: spelled.secretOf(body),
        token: row.anonymous ? null : as,
      });
    },
    as: (other) => exchangesOf(other),
  });
  return exchangesOf(token);
}

function requireToken(token: string | null): void {
  if (token !== null) return;
  throw new UpstreamError(
    "UNAUTHENTICATED",
    "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
  );
}

const isAnonymous = (row: AnyEndpoint) => "anonymous" in row && row.anonymous;

/** The row as the server spells it. Throws `UpstreamError` when the server does not have it. */
export function offered<Row extends AnyEndpoint>(server: Server, row: Row): Row {
  if (server.lacks(row)) {
    throw new UpstreamError(
      "CAPABILITY_UNAVAILABLE",
      "The server behind this gateway does not offer this. `gateway.capabilities` tells what there is.",
    );
  }
  const spelled = server.override(row);
  if (!spelled) {
    throw new UpstreamError("UPSTREAM_UNSUPPORTED", `This server does not offer ${row.method} ${row.path}.`);
  }
  return spelled;
}

export function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? "" : `?${search}`;
}
