import { createClient } from "graphql-ws";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

/** A client of graphql-ws without retries, signed in by `connectionParams`; its connection has `headers`. */
export function clientOf(url: string, connectionParams: Record<string, unknown>, headers = {}) {
  const address = `${url.replace("http:", "ws:")}/graphql`;
  const webSocketImpl = class extends WebSocket {
    constructor(at: string, protocol: string) {
      super(at, protocol, { headers });
    }
  };
  const client = createClient({ url: address, webSocketImpl, connectionParams, retryAttempts: 0 });
  onTestFinished(() => void client.dispose());
  return client;
}
