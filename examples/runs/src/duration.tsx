import { useMemo } from "react";
import { clock, useNow } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const durationFragment = graphql(`
  fragment Duration on Trackable {
    phase
    durationSeconds
  }
`);

/** The duration of a run. Between two answers it goes on by the clock of this machine, as long as the run is active. */
export function Duration({ of }: { of: FragmentType<typeof durationFragment> }) {
  const { phase, durationSeconds } = readFragment(durationFragment, of);
  const isActive = phase === "ACTIVE" && durationSeconds !== null;
  const toldAt = useMemo(() => Date.now(), [durationSeconds]);
  const passed = Math.max(0, useNow(isActive) - toldAt) / 1_000;
  return clock(isActive ? durationSeconds + passed : durationSeconds);
}
