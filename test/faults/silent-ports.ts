import { once } from "node:events";
import { connect, createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";
import { openServer } from "../support/listen.ts";

/** Starts a port that accepts connections, counts them, and sends nothing. */
export const startCounter = () => openServer(createServer());

/** Listens in a thread that then blocks: connections wait in the backlog of the operating system, which holds two. */
const LISTEN_AND_BLOCK = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** Starts a port that no longer responds to SYN, like a firewall that drops packets: its backlog is full. */
export async function startSilent() {
  const worker = new Worker(LISTEN_AND_BLOCK, { eval: true });
  onTestFinished(() => void worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const sockets = await Promise.all(
    [1, 2].map(async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      return socket;
    }),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${port}` };
}
