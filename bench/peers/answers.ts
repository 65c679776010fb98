import { difference } from "./compare.ts";
import { send } from "./load.ts";
import { requestsOf } from "./measure.ts";
import type { Operation } from "./operations.ts";
import type { Started, StaticService } from "./processes.ts";

/** Number of different requests sent for each operation. */
const TRIED = 3;

export interface Answers {
  /** Response data of each operation, for its first variables. */
  readonly data: Readonly<Record<string, readonly unknown[]>>;
  /** Upstream requests of each operation. */
  readonly requests: ReadonlyMap<string, number>;
}

/** Sends all operations to a contestant. */
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
      // Sends each request twice, because some contestants fill a cache with the first one.
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

/** Throws if a contestant's data differ from the limit's, with the path of the first difference. */
export function requireEqual(name: string, limit: Answers, given: Answers): void {
  const found = difference(limit.data, given.data);
  if (found !== null) throw new Error(`${name}: ${found}`);
}
