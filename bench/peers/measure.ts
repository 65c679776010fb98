import { setTimeout as sleep } from "node:timers/promises";
import { send, authorizationOf, type Load, load, type Request } from "./load.ts";
import { bodyOf, type Operation } from "./operations.ts";
import { cpuMs, type Started, type StaticService } from "./processes.ts";
import { median } from "./table.ts";

const TRIES = 25;

/** Creates the requests of an operation, which cycle through its variables and the tokens. */
export function requestsOf({ contestant }: Started, operation: Operation): () => Request {
  const query = contestant.textOf?.(operation.query) ?? operation.query;
  let index = 0;
  return () => ({ body: bodyOf(operation, query, index), authorization: authorizationOf(index++) });
}

interface Took {
  /** CPU milliseconds of the contestant's processes for one request. */
  readonly cpuMs: number;
  readonly perSecond: number;
}

/** Measures CPU time and throughput of a contestant under the load of one operation. */
export async function measureCpu(started: Started, operation: Operation, how: Load): Promise<Took> {
  const before = cpuMs(started.pid);
  const answered = await load(started.url, requestsOf(started, operation), how);
  // Includes CPU time that the server uses after its last response.
  await sleep(50);
  return { cpuMs: (cpuMs(started.pid) - before) / answered, perSecond: answered / how.seconds };
}

/** Returns the median latency of a single caller in milliseconds, while each response of the service takes 10 ms. */
export async function measureLatency(
  started: Started,
  service: StaticService,
  operation: Operation,
): Promise<number> {
  await service.behave({ delayMs: 10 });
  const next = requestsOf(started, operation);
  const times: number[] = [];
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const began = performance.now();
    await send(started.url, next());
    times.push(performance.now() - began);
  }
  await service.behave();
  return median(times);
}
