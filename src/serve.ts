import { once } from "node:events";
import { type AddressInfo, Server as NetServer } from "node:net";
import { systemCodeOf } from "./errors.ts";
import { createGateway, type GatewaySettings } from "./gateway.ts";
import { listConnections, reset, unanswered } from "./http/connections.ts";
import {
  afterPoll,
  createHttpServer,
  forWebSockets,
  QUIET_MS,
  refuse,
  SOCKET_LIMITS,
} from "./http/server.ts";

/*
 * The shutdown begins with refusing connections, which a balancer answers by sending the request elsewhere, whatever its
 * method. What it sends on connections that it has kept is answered with `connection: close`: it would not repeat a POST.
 * Only when it has been refused are idle connections closed, and subscriptions ended, whose clients connect again at once.
 */

/** Until when requests may arrive, in milliseconds after the signal: a slow sender must not delay the shutdown. */
const ARRIVAL_MS = 2_500;

/** Starts a gateway that listens on `HOST` and `PORT`. Rejects with a system error when it cannot. */
export async function serve(options: GatewaySettings) {
  const { config, log } = options;
  const gateway = createGateway(options);
  const limits = { ...SOCKET_LIMITS, keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS };
  const server = createHttpServer(gateway.handle, limits).on("upgrade", forWebSockets(gateway.upgrade));
  const connections = listConnections(server);
  // Without an address Node listens on `::`, for IPv4 as well, and on 0.0.0.0 where the kernel has no IPv6.
  server.listen(config.PORT, config.HOST === "::" ? undefined : config.HOST);
  await once(server, "listening");
  // Later errors are about single connections that could not be accepted.
  server.on("error", (error) => log.error({ code: systemCodeOf(error) }, "a connection was not accepted"));
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;

  /** Stops accepting connections, completes requests in flight, and resolves when none is left. */
  const drain = async (): Promise<void> => {
    gateway.announceEnd();
    const { DRAIN_TIMEOUT_MS } = config;
    const noticeMs = Math.min(QUIET_MS, DRAIN_TIMEOUT_MS);
    afterPoll(noticeMs, () => {
      server.closeIdleConnections();
      void gateway.drain();
    });
    afterPoll(ARRIVAL_MS, () => {
      gateway.refuseUnfinished();
      for (const socket of connections.members()) {
        if (unanswered(socket) > 0) continue;
        // A WebSocket whose client does not read.
        if (socket.writableLength > 0) socket.destroy();
        else refuse(socket, 408);
      }
    });
    setTimeout(() => connections.members().forEach(reset), DRAIN_TIMEOUT_MS).unref();
    // Connections that are not accepted yet would be reset. Node accepts one in each tick of the event loop.
    let arrived = 1;
    server.on("connection", () => arrived++);
    for (const until = Date.now() + noticeMs; arrived > 0 && Date.now() < until;) {
      arrived = 0;
      await new Promise<void>((polled) => afterPoll(0, polled));
    }
    // Stops listening only: `http.Server.close` would also close connections that look idle.
    await new Promise<void>((closed) => NetServer.prototype.close.call(server, () => closed()));
    await gateway.close();
  };
  return { port, reachUpstream: gateway.reachUpstream, drain };
}
