import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const countsFragment = graphql(`
  fragment Counts on Group {
    id
    experimentCounts {
      total
      succeeded
      running
      failed
      stopped
    }
  }
`);

/** How many runs of a group are in which phase; the rest of the bar waits. The counts of a server can overlap. */
export function Counts({ of }: { of: FragmentType<typeof countsFragment> }) {
  const { experimentCounts: counts } = readFragment(countsFragment, of);
  if (!counts?.total) return null;
  const { succeeded, running, failed, stopped, total } = counts;
  const parts = [
    { word: "succeeded", phase: "SUCCEEDED", count: succeeded ?? 0 },
    { word: "running", phase: "ACTIVE", count: running ?? 0 },
    { word: "failed", phase: "FAILED", count: failed ?? 0 },
    { word: "stopped", phase: "STOPPED", count: stopped ?? 0 },
  ].filter(({ count }) => count > 0);
  const others = Math.max(0, total - parts.reduce((sum, { count }) => sum + count, 0));
  const words = [...parts, { word: "other", count: others }].filter(({ count }) => count > 0);
  return (
    <div className="counts">
      <div className="bar" aria-hidden="true">
        {parts.map(({ word, phase, count }) => (
          <span key={word} data-phase={phase} style={{ flexGrow: count }} />
        ))}
        <span style={{ flexGrow: others }} />
      </div>
      <p className="hint">
        {[`${total} runs`, ...words.map(({ word, count }) => `${count} ${word}`)].join(" · ")}
      </p>
    </div>
  );
}
