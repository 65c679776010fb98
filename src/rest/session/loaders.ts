import DataLoader from "dataloader";
import type { Batch, RunRead } from "../api/batches.ts";
import { batchFaultOf } from "../../errors.ts";
import type { Exchanges } from "./exchanges.ts";
import type { AnyEndpoint } from "../api/profile.ts";

export interface Asked {
  /** Filled path, query and, for a log, the window: what makes two reads the same. */
  readonly address: string;
  /** Asks for this alone; `waiting` tells how many places wait for it. */
  readonly start: (waiting: () => number) => Promise<unknown>;
  /** Set when others of its kind may be answered with it: then the answer may hold no more than is needed. */
  readonly read: RunRead | null;
}

/** A read on its way: DataLoader hands it out at once, so that no key waits for the slowest of its batch. */
interface Started {
  readonly answer: Promise<unknown>;
}

export interface LoaderSettings {
  readonly batchOf: (row: AnyEndpoint) => Batch | null;
  /** Called when the server refuses what a batch asks and answers the single reads. */
  readonly refuse: (batch: Batch) => void;
}

/**
 * The reads of one GraphQL request since its last command: a DataLoader for each row. The service's document has no
 * batch endpoint, so a batch is a set of GETs side by side, unless the server's profile knows better.
 */
export function createLoaders(exchanges: Exchanges, { batchOf, refuse }: LoaderSettings) {
  const loaders = new Map<AnyEndpoint, DataLoader<Asked, Started, string>>();
  /** Lists that were asked for ahead of their reads, by what these have in common. */
  const ahead = new Map<string, Promise<(read: RunRead) => unknown>>();
  /** How many times each address was asked for. */
  const timesAsked = new Map<string, number>();
  const waitingFor =
    (...asked: readonly Asked[]) =>
    (): number =>
      asked.reduce((sum, { address }) => sum + (timesAsked.get(address) ?? 0), 0);

  const loaderOf = (row: AnyEndpoint) => {
    const known = loaders.get(row);
    if (known) return known;
    const alone = new Map<string, Promise<unknown>>();
    const startAlone = (asked: Asked): Promise<unknown> => {
      const { address, start } = asked;
      const answer = alone.get(address) ?? start(waitingFor(asked));
      alone.set(address, answer);
      return answer;
    };
    const loader = new DataLoader<Asked, Started, string>(
      (asked) => {
        const batch = batchOf(row);
        const whole = new Map(asked.flatMap((each) => (each.read ? [] : [[each, startAlone(each)]])));
        // What is on its way as a whole answers whoever needs a part of it.
        const parts = asked.filter(({ read, address }) => read && !alone.has(address));
        const together = batch ? startTogether(batch, parts, startAlone) : new Map<Asked, Promise<unknown>>();
        return Promise.resolve(
          asked.map((each) => ({ answer: whole.get(each) ?? together.get(each) ?? startAlone(each) })),
        );
      },
      { cacheKeyFn: ({ address, read }) => (read ? `${address} in part` : address) },
    );
    loaders.set(row, loader);
    return loader;
  };

  const startTogether = (
    batch: Batch,
    asked: readonly Asked[],
    alone: (asked: Asked) => Promise<unknown>,
  ): Map<Asked, Promise<unknown>> =>
    new Map(
      companies(batch, asked, ahead).flatMap((company) => {
        const [first, ...others] = company;
        const waiting = waitingFor(...company.map(({ asked: each }) => each));
        const list =
          ahead.get(batch.common(first.read) ?? "") ??
          batch.ask(
            (row, at, query) => exchanges.ask(row, at, { query, waiting }),
            [first.read, ...others.map(({ read }) => read)],
          );
        const readSingles = () => Promise.all(company.map(({ asked: each }) => alone(each)));
        list.catch((fault: unknown) => learnFrom(batch, fault, readSingles));
        return company.map((each): [Asked, Promise<unknown>] => [each.asked, pick(list, each, alone)]);
      }),
    );

  /** Starts the request that answers many reads such as this one, before they are known. */
  const readAhead = (row: AnyEndpoint, read: RunRead): void => {
    const batch = batchOf(row);
    const common = batch?.common(read);
    if (!batch || common == null || ahead.has(common)) return;
    const list = batch.ask((listRow, at, query) => exchanges.ask(listRow, at, { query }), [read]);
    // Whoever it is for tells of its failure.
    list.catch(() => {});
    ahead.set(common, list);
  };

  /** Where each record can be read although their list cannot, it is the question that the server does not take. */
  const learnFrom = (batch: Batch, fault: unknown, readSingles: () => Promise<unknown>): void => {
    if (batchFaultOf(fault) !== "refused") return;
    readSingles().then(
      () => refuse(batch),
      () => {},
    );
  };

  const pick = async (
    list: Promise<(read: RunRead) => unknown>,
    { asked, read }: Member,
    alone: (asked: Asked) => Promise<unknown>,
  ): Promise<unknown> => {
    try {
      // What did not come back is asked alone, so that its error is the true one.
      return (await list)(read) ?? alone(asked);
    } catch (fault) {
      if (!batchFaultOf(fault)) throw fault;
      return alone(asked);
    }
  };

  return {
    /** The answer, shared with whoever asked for the same. */
    share: async (row: AnyEndpoint, asked: Asked): Promise<unknown> => {
      timesAsked.set(asked.address, (timesAsked.get(asked.address) ?? 0) + 1);
      return (await loaderOf(row).load(asked)).answer;
    },
    readAhead,
  };
}

interface Member {
  readonly asked: Asked;
  readonly read: RunRead;
}

/** Reads that one request can answer: two or more, for one is answered as well by its own row, unless the list is on its way. */
function companies(
  batch: Batch,
  asked: readonly Asked[],
  ahead: ReadonlyMap<string, unknown>,
): [Member, ...Member[]][] {
  const byCommon = new Map<string, Member[]>();
  for (const each of asked) {
    const common = each.read && batch.common(each.read);
    if (!each.read || !common) continue;
    const members = byCommon.get(common) ?? [];
    members.push({ asked: each, read: each.read });
    byCommon.set(common, members);
  }
  return [...byCommon].flatMap(([common, members]) => {
    const cuts: [Member, ...Member[]][] = [];
    for (let from = 0; from < members.length; from += batch.most) {
      const [first, ...others] = members.slice(from, from + batch.most);
      if (first && (others.length > 0 || ahead.has(common))) cuts.push([first, ...others]);
    }
    return cuts;
  });
}
