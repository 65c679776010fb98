import { type AddressInfo, Server as NetServer } from "node:net";
import type { Config } from "./config.ts";
import { createGateway, type GatewayOptions } from "./gateway.ts";
import { createHttpServer, onWebSocket } from "./http/server.ts";

/** A gateway that listens. */
export interface Serving {
  readonly port: number;
  /** Connects to the service without sending anything. Rejects when that fails. */
  readonly reachUpstream: () => Promise<void>;
  /** Reads the files that settings name again. */
  readonly reload: () => void;
  /** Stops accepting connections, completes requests in flight, and resolves when none is left. */
  readonly drain: () => Promise<void>;
}

/** The address cannot be listened on. The message is the code of the error: `EADDRINUSE`. */
export class CannotListen extends Error {}

/** How long connections that look idle stay open on shutdown, in milliseconds: a request may be in transit. */
const GRACE_MS = 1_000;

/** How long a request may take to arrive on shutdown, in milliseconds: who sends one slowly must not hold it up. */
const ARRIVAL_MS = 2_000;

/** Starts a gateway that listens on `HOST` and `PORT`. Rejects with `CannotListen`. */
export async function serve(options: GatewayOptions): Promise<Serving> {
  const { config, log } = options;
  const gateway = createGateway(options);
  const server = onWebSocket(createHttpServer(gateway.handle), gateway.upgrade);
  await listen(server, config);
  // Later errors are about single connections that could not be accepted.
  server.on("error", (error) => log.error({ code: codeOf(error) }, "a connection was not accepted"));
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;

  const drain = async (): Promise<void> => {
    void gateway.drain();
    server.headersTimeout = ARRIVAL_MS;
    server.requestTimeout = ARRIVAL_MS;
    setTimeout(() => server.closeAllConnections(), config.DRAIN_TIMEOUT_MS).unref();
    setTimeout(() => setInterval(() => server.closeIdleConnections(), 100).unref(), GRACE_MS).unref();
    // Stops listening only. `http.Server.close` would also close connections that look idle although a request is in
    // transit; those are closed after `GRACE_MS`.
    await new Promise<void>((closed) => NetServer.prototype.close.call(server, () => closed()));
    await gateway.close();
  };
  return { port, reachUpstream: gateway.reachUpstream, reload: gateway.reload, drain };
}

function listen(server: NetServer, { HOST, PORT }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(new CannotListen(codeOf(error), { cause: error }));
    server.once("error", fail);
    server.listen(PORT, HOST, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

/** The code of a system error: `EADDRINUSE`. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown";
