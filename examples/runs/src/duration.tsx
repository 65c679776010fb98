import { clock, useNow } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const durationFragment = graphql(`
  fragment Duration on Trackable {
    id
    phase
    durationSeconds
  }
`);

/**
 * Start times of active runs by the clock of this machine, by run. A cached duration may be much older than its display, so the earliest
 * start time is the right one.
 */
const begun = new Map<string, number>();

function begunOf(id: string, seconds: number): number {
  const began = Math.min(Date.now() - seconds * 1_000, begun.get(id) ?? Number.POSITIVE_INFINITY);
  begun.set(id, began);
  return began;
}

/** The duration of a run. While the run is active, it advances by the clock of this machine between two responses. */
export function Duration({ of }: { of: FragmentType<typeof durationFragment> }) {
  const { id, phase, durationSeconds } = readFragment(durationFragment, of);
  const now = useNow(phase === "ACTIVE" && durationSeconds !== null);
  if (phase !== "ACTIVE" || durationSeconds === null) {
    begun.delete(id);
    return clock(durationSeconds);
  }
  return clock(Math.max(durationSeconds, (now - begunOf(id, durationSeconds)) / 1_000));
}
