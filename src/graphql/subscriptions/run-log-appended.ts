import type { TrackedRecord } from "../../rest/api/records.ts";
import type { Appended } from "../../live/tail-poll.ts";
import type { LogWindow } from "../../rest/session/log-window.ts";
import { arg, root } from "../core/builder.ts";
import type { StreamContext } from "../core/context.ts";
import { ALL, type Candidates, resolveIdAmong, keyOf } from "../core/ids.ts";
import { nullIfNotFound, type Resource } from "../core/resource.ts";
import { LogChunk, parseCursor } from "../types/logs.ts";
import { eventsOf, runSource, type TailArgs } from "./events.ts";

/** Maximum size of the log in one event, in bytes. */
const MAX_CHUNK_BYTES = 262_144;

/** Estimated memory of an event in addition to its log, in bytes. */
const CHUNK_OVERHEAD_BYTES = 500;

/** The position after a log has vanished. A log that exists later is a new one, and is sent from its first byte. */
const BEGINS_ANEW = -1;

const LOGGED: Candidates = { kinds: ALL.kinds.filter(({ logs }) => logs), one: "run with a log" };

function tailLog({ id, after }: TailArgs, { live, server, gateway }: StreamContext) {
  // Safe: every kind with a log has a status.
  const run = resolveIdAmong(LOGGED, "id", id) as Resource<TrackedRecord>;
  const { kind, address } = run;
  const { logs } = kind;
  if (!logs) throw new TypeError(`expected a kind with a log, got ${kind.name}`);
  const maxBytes = Math.min(MAX_CHUNK_BYTES, gateway.maxLogBytes);

  return live.tail<number, LogWindow>(
    {
      key: `log ${keyOf(run)}`,
      endpoint: logs,
      run: runSource(run, server),
      read: async (session, position) => {
        const fromByte = Math.max(0, position);
        const reading = session.window(logs, address, { fromByte, maxBytes, isContinued: true });
        // A missing log does not exist yet or was deleted. It is not an error: the poll of the run fails if the run itself is missing.
        const window = await reading.catch(nullIfNotFound);
        if (!window)
          return { items: [], bytes: 0, position: position === 0 ? 0 : BEGINS_ANEW, hasMore: false };
        return appendedOf(position === BEGINS_ANEW ? { ...window, isRestarted: true } : window, position);
      },
    },
    after == null ? 0 : parseCursor(after),
  );
}

function appendedOf(window: LogWindow, before: number): Appended<number, LogWindow> {
  if (window.text === "" && (!window.isRestarted || before === BEGINS_ANEW))
    return { items: [], bytes: 0, position: before, hasMore: false };
  const { startByte, endByte, hasMore, rest } = window;
  return {
    items: [window],
    bytes: endByte - startByte + CHUNK_OVERHEAD_BYTES,
    position: endByte,
    hasMore,
    rest: rest && {
      next: async () => appendedOf(await rest.next(), endByte),
      close: () => rest.close(),
    },
  };
}

root.subscription("runLogAppended", {
  type: LogChunk,
  nullable: false,
  description:
    "The log of a run or of a job of an experiment as it is written, no text lost or sent twice. Ends with the run.",
  args: {
    id: arg.id({
      required: true,
      description: "Global id, `reference` or unique name of a run or of a job of an experiment.",
    }),
    after: arg.string({ description: "`endCursor` of the last known chunk. Default: the beginning." }),
  },
  ...eventsOf(tailLog),
});
