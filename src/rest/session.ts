import DataLoader from "dataloader";
import pLimit from "p-limit";
import { type Caller, type Client, type Row } from "./client.ts";
import { type Command, type Get } from "./endpoint.ts";
import { UpstreamError } from "./errors.ts";
import { type LogWindow, readWindow, type WindowRequest } from "./window.ts";

/** Parameters behind the `?` of a list. */
export type Query = Readonly<Record<string, string>>;

export interface SessionSettings {
  /** Most exchanges of one GraphQL request. */
  readonly maxExchanges: number;
  /** Most exchanges of one GraphQL request at a time. */
  readonly width: number;
}

/** The reads and commands of one GraphQL request, for one caller. */
export interface Session {
  /**
   * Reads a row. Whoever asks for the same address again shares the first answer, or the first error.
   * Rejects with `InputError` when a name cannot stand in a path, with `UpstreamError` otherwise.
   */
  read: <At, Answer>(row: Get<At, Answer>, at: At, query?: Query) => Promise<Answer>;
  /** Reads part of a log, shared in the same way. */
  window: <At>(row: Get<At, undefined>, at: At, wanted: WindowRequest) => Promise<LogWindow>;
  /** Sends a command, once. What was read before is forgotten, also when it failed: it may have happened. */
  send: <At, Answer, Body>(row: Command<At, Answer, Body>, at: At, body: Body) => Promise<Answer>;
  /** The same request on behalf of somebody else, sharing nothing but the limits. */
  as: (token: string) => Session;
}

interface Asked {
  /** Filled path, query and, for a log, the window: what makes two reads the same. */
  readonly address: string;
  readonly start: () => Promise<unknown>;
}

/** A read on its way: DataLoader hands it out at once, so that no key waits for the slowest of its batch. */
interface Started {
  readonly answer: Promise<unknown>;
}

export function openSession(client: Client, caller: Caller, settings: SessionSettings): Session {
  const limit = pLimit(settings.width);
  let exchanges = 0;

  const spend = (): void => {
    if (++exchanges > settings.maxExchanges) {
      throw new UpstreamError(
        "REQUEST_LIMIT_EXCEEDED",
        `This operation needs more than ${settings.maxExchanges} requests to the service; ask for less at once.`,
      );
    }
  };

  const sessionOf = (who: Caller): Session => {
    let loaders = new Map<Row<never, unknown>, DataLoader<Asked, Started, string>>();

    const loaderOf = (row: Row<never, unknown>) => {
      const known = loaders.get(row);
      if (known) return known;
      // The service's document has no batch endpoint: a batch is a set of GETs side by side.
      const loader = new DataLoader<Asked, Started, string>(
        (batch) => Promise.resolve(batch.map(({ start }) => ({ answer: start() }))),
        { cacheKeyFn: ({ address }) => address },
      );
      loaders.set(row, loader);
      return loader;
    };

    const share = async (row: Row<never, unknown>, asked: Asked): Promise<unknown> =>
      (await loaderOf(row).load(asked)).answer;

    const exchange = async <Answer>(
      row: Row<never, unknown>,
      act: () => Promise<Answer>,
    ): Promise<Answer> => {
      if (who.token === null && !("anonymous" in row && row.anonymous)) {
        throw new UpstreamError(
          "UNAUTHENTICATED",
          "Expected the header `Authorization: token <token>`, got none that can be used. The mutation `login` gives a token.",
        );
      }
      return limit(() => {
        spend();
        return act();
      });
    };

    return {
      // The casts below are true because a loader belongs to one row, and a row has one type of answer.
      read: async <At, Answer>(row: Get<At, Answer>, at: At, query?: Query) => {
        const path = row.fill(at) + searchOf(query);
        const start = () => exchange(row, () => client.ask({ row, path }, who));
        return (await share(row, { address: path, start })) as Answer;
      },
      window: async (row, at, wanted) => {
        const path = row.fill(at);
        const start = () =>
          exchange(row, () =>
            client.take({ row, path }, who, ({ stream, contentType }) =>
              readWindow(stream, contentType, wanted),
            ),
          );
        return (await share(row, { address: `${path} ${JSON.stringify(wanted)}`, start })) as LogWindow;
      },
      send: async (row, at, body) => {
        const path = row.fill(at);
        try {
          return await exchange(row, () =>
            client.ask({ row, path, body: row.encode(body) }, row.anonymous ? { ...who, token: null } : who),
          );
        } finally {
          loaders = new Map();
        }
      },
      as: (token) => sessionOf({ ...who, token }),
    };
  };

  return sessionOf(caller);
}

function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams(query).toString();
  return search === "" ? "" : `?${search}`;
}
