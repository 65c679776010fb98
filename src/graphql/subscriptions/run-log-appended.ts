import type { TrackedRecord } from "../../rest/api/records.ts";
import type { Appended } from "../../live/tail-poll.ts";
import type { LogWindow } from "../../rest/session/log-window.ts";
import { arg, root } from "../core/builder.ts";
import type { StreamContext } from "../core/context.ts";
import { ALL, type Candidates, identifyAmong, keyOf } from "../core/ids.ts";
import { nullIfNotFound, type Resource } from "../core/resource.ts";
import { LogChunk, parseCursor } from "../types/logs.ts";
import { eventsOf, runSource, type TailArgs } from "./events.ts";

/** Maximum size of the text of one event, in bytes. */
const MAX_CHUNK_BYTES = 262_144;

/** About how much memory an event takes besides its text, in bytes. */
const CHUNK_OVERHEAD_BYTES = 500;

const LOGGED: Candidates = { kinds: ALL.kinds.filter(({ logs }) => logs), one: "run with a log" };

function tailLog({ id, after }: TailArgs, { live, server, gateway }: StreamContext) {
  // Safe: what has a log has a status.
  const run = identifyAmong(LOGGED, "id", id) as Resource<TrackedRecord>;
  const { kind, address } = run;
  const { logs } = kind;
  if (!logs) throw new TypeError(`expected a kind with a log, got ${kind.name}`);
  const maxBytes = Math.min(MAX_CHUNK_BYTES, gateway.maxLogBytes);

  return live.tail<number, LogWindow>(
    {
      key: `log ${keyOf(run)}`,
      endpoint: logs,
      run: runSource(run, server),
      read: async (session, fromByte) => {
        const window = session.window(logs, address, { fromByte, maxBytes, isContinued: true });
        // There is no log yet. The poll of the run shows whether there is a run.
        return appendedOf(await window.catch(nullIfNotFound), fromByte);
      },
    },
    after == null ? 0 : parseCursor(after),
  );
}

function appendedOf(window: LogWindow | null, fromByte: number): Appended<number, LogWindow> {
  if (!window || (window.text === "" && !window.isRestarted))
    return { items: [], bytes: 0, position: fromByte, hasMore: false };
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
      description: "Global id, or name such as `ada.mnist.42`, of what has a log.",
    }),
    after: arg.string({ description: "`endCursor` of the last known chunk. Default: the beginning." }),
  },
  ...eventsOf(tailLog),
});
