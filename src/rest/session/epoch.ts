import { untilEnd } from "../../request-scope.ts";
import type { Pacing } from "./batches.ts";
import type { Reader } from "./reads.ts";

/**
 * Delays the first reads of an operation until it knows the caller's epoch: the time since the caller's last command, as all
 * processes name it. A new epoch means that another process has sent a command, and drops what this process has kept for
 * the caller. Each operation looks the epoch up once. Without replicas that share it, returns the pacing unchanged.
 */
export function afterEpoch(reader: Reader, pacing: Pacing): Pacing {
  const { shared, token, isFresh, upstream, scope } = reader;
  const { replicas } = upstream;
  if (!shared || token === null || isFresh || !replicas || replicas.operationMaxAgeMs === null) return pacing;
  let known: Promise<void> | null = null;
  let isKnown = false;
  const look = async (): Promise<void> => {
    const epoch = await untilEnd(scope, replicas.epoch(token));
    if (epoch !== null) shared.enterEpoch(epoch);
    isKnown = true;
  };
  return {
    get isStopped() {
      return pacing.isStopped;
    },
    hold: (bytes) => pacing.hold(bytes),
    isWaiting: () => !isKnown || pacing.isWaiting(),
    onIdle: (resume) => {
      if (isKnown) pacing.onIdle(resume);
      else void (known ??= look()).then(resume);
    },
  };
}
