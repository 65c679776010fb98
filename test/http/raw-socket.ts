import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished, vi } from "vitest";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";

/** Headers of a request that switches to another protocol, WebSocket. */
export const WEB_SOCKET =
  "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";

/** Opens a connection whose bytes the test writes and reads itself. */
export async function openRaw(target: string | number, from = "127.0.0.1") {
  const port = typeof target === "number" ? target : Number(new URL(target).port);
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  onTestFinished(() => void socket.destroy());
  let read = "";
  socket.on("error", () => {}).on("data", (chunk: Buffer) => (read += chunk.toString()));
  // A reset is an end as well, and `events.once` would reject with it.
  const closed = new Promise<boolean>((resolve) => void socket.once("close", resolve));
  await once(socket, "connect");
  return {
    socket,
    closed,
    read: () => read,
    write: (text: string) => new Promise<void>((done) => socket.write(text, () => done())),
    /** The status lines of the responses, once there are `count` of them and the last one ends with `end`. */
    statuses: async (count: number, end = "") => {
      const found = () => read.split("HTTP/1.1 ").slice(1);
      await vi.waitUntil(() => found().length >= count && read.endsWith(end), LONG_TIMEOUT);
      return found().map((answer) => answer.split("\r\n", 1)[0] ?? "");
    },
  };
}

/** The status of the response to these bytes. */
export async function statusOf(target: string | number, ...head: readonly string[]): Promise<string> {
  const { write, statuses } = await openRaw(target);
  await write(`${head.join("\r\n")}\r\n\r\n`);
  return (await statuses(1))[0] ?? "";
}
