import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { createClient } from "@redis/client";
import { onTestFinished } from "vitest";
import { freePort } from "./free-port.ts";

/** Whether there is a Redis to test with. */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;

if (!hasRedis) {
  process.stderr.write("\nNOT RUN: the tests with Redis, for want of it. Install redis-server.\n\n");
}

interface Options {
  /** Further options of `redis-server`, such as `--requirepass secret`. */
  readonly options?: readonly string[];
  /** The option that takes the port. */
  readonly portOption?: "--port" | "--tls-port";
  /** A port instead of a free one. */
  readonly port?: number;
}

/** A `redis-server` of its own with nothing on disk, killed when the test ends. */
export async function startRedis({ options = [], portOption = "--port", port: given }: Options = {}) {
  const port = given ?? (await freePort());
  const child = spawn(
    "redis-server",
    [
      portOption,
      `${port}`,
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
      ...options.flatMap((each) => each.split(" ")),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  for await (const line of createInterface(child.stdout)) if (line.includes("Ready to accept")) break;
  // Nobody reads on, and a full pipe would stop it.
  child.stdout.resume();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    /** Stops it without closing its connections. */
    freeze: () => child.kill("SIGSTOP"),
  };
}

/** A client of a Redis, closed when the test ends. */
export async function connectTo(url: string) {
  const redis = createClient({ url, RESP: 2 });
  redis.on("error", () => {});
  await redis.connect();
  onTestFinished(() => redis.destroy());
  return redis;
}

/** Something that lets clients connect as to a Redis, and then notes their commands and answers none. */
export async function startMute() {
  const commands: string[] = [];
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const text of data
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        // Each word follows a line with its length.
        const command = text
          .split("\r\n")
          .filter((line) => line !== "" && !line.startsWith("$"))
          .join(" ");
        commands.push(command);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `redis://127.0.0.1:${port}`, commands: () => commands };
}

/** Something that gives every command the same reply. */
export async function startAnswering(reply: string) {
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      for (let command = COMMAND.exec(text); command; command = COMMAND.exec(text)) {
        const words = Number(command[1]);
        let end = command[0].length;
        for (let word = 0; word < words && end >= 0; word++) {
          const head = /^\$(\d+)\r\n/.exec(text.slice(end));
          end = head ? end + head[0].length + Number(head[1]) + 2 : -1;
          if (end > text.length) end = -1;
        }
        if (end < 0) return;
        text = text.slice(end);
        socket.write(reply, "latin1");
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `redis://127.0.0.1:${port}` };
}

const COMMAND = /^\*(\d+)\r\n/;

/** Something that answers a command by a reply that begins with `head` and is this long, as long as it is taken. */
export async function startFlooding(head: string, bytes: number) {
  const flooded: number[] = [];
  const chunk = Buffer.alloc(1_000_000, "-");
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(head);
      let sent = 0;
      const flood = () => {
        while (sent < bytes && !socket.destroyed) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
      };
      socket.on("drain", flood);
      socket.on("close", () => flooded.push(sent));
      flood();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    /** How much of each reply was sent before its connection was closed, in bytes. */
    flooded: () => flooded,
  };
}
