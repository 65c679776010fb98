import type { LiveState } from "./live.ts";

const WORDS: Record<LiveState, string> = {
  connecting: "connecting…",
  live: "live",
  waiting: "reconnecting…",
  ended: "",
  failed: "not live",
};

/** Whether what is shown follows the service by itself. */
export function LiveBadge({ state }: { state: LiveState }) {
  return (
    <span className="badge" role="status" data-live={state}>
      {WORDS[state]}
    </span>
  );
}
