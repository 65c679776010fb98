import { difference } from "./compare.ts";
import { send } from "./load.ts";
import { requestsOf } from "./measure.ts";
import type { Operation } from "./operations.ts";
import type { Started, StaticService } from "./processes.ts";

/** How many requests of an operation are tried. */
const TRIED = 3;

export interface Answers {
  /** The data of each operation, for some of its variables. */
  readonly data: Readonly<Record<string, readonly unknown[]>>;
  /** Upstream requests of each operation. */
  readonly requests: ReadonlyMap<string, number>;
}

/** Asks a contestant each operation. */
export async function sendAll(
  started: Started,
  service: StaticService,
  operations: readonly Operation[],
): Promise<Answers> {
  const data: Record<string, readonly unknown[]> = {};
  const requests = new Map<string, number>();
  for (const operation of operations) {
    const next = requestsOf(started, operation);
    const given: unknown[] = [];
    for (let tried = 0; tried < TRIED; tried++) {
      const request = next();
      // Twice: the first time, some fetch what they keep.
      for (const _ of ["first", "second"]) {
        await service.behave();
        const { text } = await send(started.url, request);
        given.push((JSON.parse(text, started.contestant.read) as { data: unknown }).data);
        requests.set(operation.name, (await service.behave()).requests);
      }
    }
    data[operation.name] = given;
  }
  return { data, requests };
}

/** Throws with the first path at which a contestant's data differ from the limit's. */
export function requireEqual(name: string, limit: Answers, given: Answers): void {
  const found = difference(limit.data, given.data);
  if (found !== null) throw new Error(`${name}: ${found}`);
}
