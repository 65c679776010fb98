import { fork } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll } from "vitest";
import type { LogWindow, WindowRequest } from "../../src/rest/session/log-window.ts";

export interface HeapQuestion {
  /** Of what size the pieces are in which the log comes. */
  readonly pieces: "ofSocket" | "crumbs";
  readonly count: number;
  readonly wanted: WindowRequest;
}

export interface HeapAnswer {
  readonly window: LogWindow;
  /** The most megabytes of buffers that were held while it was read. */
  readonly megabytes: number;
}

/** Reads windows in a process of its own that lives as long as the tests of a block. */
export function watchWindows(): (question: HeapQuestion) => Promise<HeapAnswer> {
  let child: ReturnType<typeof fork> | undefined;
  beforeAll(() => {
    child = fork(new URL("window-heap.ts", import.meta.url), {
      execArgv: ["--import", "tsx", "--expose-gc"],
    });
  });
  afterAll(() => void child?.kill());
  return async (question) => {
    if (!child) throw new Error("expected a process, got none");
    const answered = once(child, "message");
    child.send(question);
    // It sends nothing else.
    const [answer] = (await answered) as [HeapAnswer];
    return answer;
  };
}
