import { clock, useNow } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const durationFragment = graphql(`
  fragment Duration on Trackable {
    id
    phase
    durationSeconds
  }
`);

interface Told {
  readonly seconds: number;
  readonly at: number;
}

/** When the present duration of a run was told, by the run. What the cache keeps was told before it is shown again. */
const told = new Map<string, Told>();

function toldOf(id: string, seconds: number): Told {
  const known = told.get(id);
  if (known?.seconds === seconds) return known;
  const news = { seconds, at: Date.now() };
  told.set(id, news);
  return news;
}

/** The duration of a run. Between two answers it goes on by the clock of this machine, as long as the run is active. */
export function Duration({ of }: { of: FragmentType<typeof durationFragment> }) {
  const { id, phase, durationSeconds } = readFragment(durationFragment, of);
  const now = useNow(phase === "ACTIVE" && durationSeconds !== null);
  if (phase !== "ACTIVE" || durationSeconds === null) return clock(durationSeconds);
  const { seconds, at } = toldOf(id, durationSeconds);
  return clock(seconds + Math.max(0, now - at) / 1_000);
}
