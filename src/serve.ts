import { once } from "node:events";
import { type AddressInfo, Server as NetServer } from "node:net";
import { systemCodeOf } from "./errors.ts";
import { createGateway, type GatewaySettings } from "./gateway.ts";
import { isCounted, limitConnections, listConnections, reset, unanswered } from "./http/connections.ts";
import {
  afterPoll,
  createHttpServer,
  forWebSockets,
  QUIET_MS,
  refuse,
  SOCKET_LIMITS,
} from "./http/server.ts";
import { shortIteration } from "./util/event-loop.ts";

/*
 * The shutdown first refuses new connections, so that a load balancer sends their requests elsewhere, even a POST. A request on a
 * connection that is already open is still served, with `connection: close`, because a load balancer would not repeat a rejected POST. Idle
 * connections and subscriptions end last, after new connections have been refused for a while, because clients of subscriptions connect
 * again immediately and must reach another replica.
 */

/** How long requests may still arrive after the signal, in milliseconds. A slow sender must not delay the shutdown. */
const ARRIVAL_MS = 2_500;

/** Starts a gateway that listens on `HOST` and `PORT`. Rejects with a system error when it cannot listen. */
export async function serve(options: GatewaySettings) {
  const { config, log } = options;
  const gateway = createGateway(options);
  const limits = { ...SOCKET_LIMITS, keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS };
  const server = createHttpServer(gateway.handle, limits).on("upgrade", forWebSockets(gateway.upgrade));
  limitConnections(server, config.MAX_CONNECTIONS);
  const connections = listConnections(server);
  // Without an address Node listens on `::`, which includes IPv4, or on 0.0.0.0 if the kernel has no IPv6.
  server.listen(config.PORT, config.HOST === "::" ? undefined : config.HOST);
  await once(server, "listening");
  // From now on, errors concern single connections that could not be accepted.
  server.on("error", (error) => log.error({ code: systemCodeOf(error) }, "a connection was not accepted"));
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;

  /** Stops accepting connections, completes requests in flight, and resolves when no request is left. */
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
        // A WebSocket is already closing. A response after its last frame would be an error for its client.
        if (unanswered(socket) > 0 || !isCounted(socket)) continue;
        // A client that has not read the bytes written before would not read a response either.
        if (socket.writableLength > 0) socket.destroy();
        else refuse(socket, 408);
      }
    });
    setTimeout(() => connections.members().forEach(reset), DRAIN_TIMEOUT_MS).unref();
    // Closing the server resets connections that it has not accepted yet. Node accepts one connection in each iteration of the event loop.
    let accepted = 0;
    server.on("connection", () => accepted++);
    await shortIteration(noticeMs, () => {
      const isQuiet = accepted === 0;
      accepted = 0;
      return isQuiet;
    });
    // Stops listening only: `http.Server.close` would also close connections that look idle.
    await new Promise<void>((closed) => NetServer.prototype.close.call(server, () => closed()));
    await gateway.close();
  };
  return { port, reachUpstream: gateway.reachUpstream, drain };
}
