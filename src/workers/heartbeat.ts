import type { Worker } from "node:cluster";
import { send } from "./reports.ts";

/** Time between two questions, in milliseconds. */
const INTERVAL_MS = 1_000;

/** Questions that may be unanswered. They are counted, not timed: a pause of the whole machine kills no worker. */
const MAX_UNANSWERED = 10;

/** Asks a worker whether it lives, and calls `onHang` when it does not answer. */
export function watchHeartbeat(worker: Worker, onHang: () => void): void {
  let unanswered = 0;
  const ask = (): void => {
    if (unanswered >= MAX_UNANSWERED) {
      clearInterval(timer);
      return onHang();
    }
    unanswered += 1;
    send(worker, { type: "ping" });
  };
  const timer = setInterval(ask, INTERVAL_MS).unref();
  // Whatever it says, it lives.
  worker.on("message", () => (unanswered = 0));
  worker.once("exit", () => clearInterval(timer));
}
