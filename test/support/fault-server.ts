import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { NOT_FOUND, onWire, type Seen, seenIn, tell, type Told } from "./fake.ts";

/** One exchange that is to go wrong, and what the service would have answered. */
export interface Trouble {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly right: Told;
}

/** A way to go wrong. */
export type Fault = (trouble: Trouble) => unknown;

interface Order {
  readonly route: RegExp;
  readonly fault: Fault;
  /** Which calls of the route, counted from 1, go wrong. */
  readonly isMeant: (call: number) => boolean;
  calls: number;
}

/** A service over real HTTP that answers rightly, until it is told how to fail and where. */
export async function startFaultServer(answer: (seen: Seen) => Told | undefined) {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let orders: Order[] = [];
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    const asked = await seenIn(request);
    seen.push(asked);
    const right = answer(asked) ?? NOT_FOUND;
    const order = orders.find(({ route }) => route.test(`${asked.method} ${asked.path}`));
    if (order?.isMeant(++order.calls)) await order.fault({ request, response, right });
    else tell(response, right);
  });
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  const open = (port: number) =>
    new Promise<void>((ready) => server.listen(port, "127.0.0.1", () => ready()));
  const close = async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await open(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(close);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** In the order of their arrival: `GET ada/mnist/jobs/3/`. */
    calls: (route = /./) => seen.map(onWire).filter((call) => route.test(call)),
    seen: () => seen,
    connections: () => connections,
    /** From now on requests whose `METHOD path` matches go wrong. */
    fail: (route: RegExp, fault: Fault, isMeant: Order["isMeant"] = () => true) => {
      orders = [{ route, fault, isMeant, calls: 0 }, ...orders];
    },
    heal: () => {
      orders = [];
    },
    /** Closes the port: who connects is refused. */
    stop: close,
    /** Listens again where it listened. */
    restart: () => open(port),
  };
}

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;
