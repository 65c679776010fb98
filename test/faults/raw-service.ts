import { onTestFinished } from "vitest";
import { type RawExchange, type RawService, startRawService } from "./framing.ts";

/** A service over plain sockets, closed when the test ends. */
export async function startRaw(answer: (exchange: RawExchange) => unknown): Promise<RawService> {
  const service = await startRawService(answer);
  onTestFinished(() => service.close());
  return service;
}
