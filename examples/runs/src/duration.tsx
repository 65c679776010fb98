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
 * When active runs began by the clock of this machine, by the run. What the cache keeps may have been told long before it is shown:
 * the earliest of all beginnings is the true one.
 */
const begun = new Map<string, number>();

function begunOf(id: string, seconds: number): number {
  const began = Math.min(Date.now() - seconds * 1_000, begun.get(id) ?? Number.POSITIVE_INFINITY);
  begun.set(id, began);
  return began;
}

/** The duration of a run. Between two answers it goes on by the clock of this machine, as long as the run is active. */
export function Duration({ of }: { of: FragmentType<typeof durationFragment> }) {
  const { id, phase, durationSeconds } = readFragment(durationFragment, of);
  const now = useNow(phase === "ACTIVE" && durationSeconds !== null);
  if (phase !== "ACTIVE" || durationSeconds === null) {
    begun.delete(id);
    return clock(durationSeconds);
  }
  return clock(Math.max(durationSeconds, (now - begunOf(id, durationSeconds)) / 1_000));
}
