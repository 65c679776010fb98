import { expect, vi } from "vitest";
import { isFull } from "./cases.ts";
import { within } from "./machine.ts";

/*
 * On an idle machine, a test has 10 s (`vitest.config.ts`), so that a test that hangs fails soon. The files below have longer timeouts. On
 * a machine under load, all timeouts are longer (`machine.ts`).
 */

/** Tests that take minutes: with browsers, installations, dozens of processes or full heaps. */
const MINUTES =
  /\/(?:browser|deploy|ecosystem|examples|memory|nodes|package)\/|\/(?:build|built-demo|contributing|framing|plans|process|same-answers|schema-compatibility|tracing|worst)\.test/;

/** Tests that take several seconds: with processes, or with deadlines that expire and are longer on a slow machine (`withDeadline`). */
const SLOW =
  /\/(?:agents|docs|incremental|recorded|scenarios)\/|\/faults\/(?!fairness|bounds)|\/(?:access|compression|admission|drain|explain|faults|host|in-flight|cache|poll-memory|keep-alive|large|left-out|long-logs|many-runs|many-subscriptions|missing|never-twice|outcome|rate-limit|plan|propagation|random-commands|retries|sockets|streams|timeouts|web-socket-floods|whole-lists)\.test/;

/** Property tests. With `FULL=1`, they run all their cases. */
const PROPERTIES = /\/(?:lists|logs|metrics)\/|\/(?:every-command|json-answers|tokens)\.test/;

function timeOutOf(path: string): number | null {
  const isSlow = SLOW.test(path);
  if (MINUTES.test(path) || (isFull && (isSlow || PROPERTIES.test(path)))) return within(300_000);
  return isSlow ? within(60_000) : null;
}

// Resets the settings of an earlier test file in the same worker.
vi.resetConfig();
const ms = timeOutOf(expect.getState().testPath ?? "");
if (ms !== null) vi.setConfig({ testTimeout: ms, hookTimeout: ms });
