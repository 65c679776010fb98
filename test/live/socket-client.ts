import { createClient } from "graphql-ws";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

/** A client of graphql-ws that does not try again, signed in by `connectionParams`. */
export function clientOf(url: string, connectionParams: Record<string, unknown>) {
  const address = `${url.replace("http:", "ws:")}/graphql`;
  const client = createClient({ url: address, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 });
  onTestFinished(() => void client.dispose());
  return client;
}
