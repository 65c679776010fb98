import { untilEnd } from "../../request-scope.ts";
import type { Pacing } from "./batches.ts";
import type { Reader } from "./reads.ts";

/**
 * The pacing of an operation whose reads wait until it is known whether another process has sent a command of the caller:
 * what this one has kept is dropped then. One look-up for each operation, at its first read.
 */
export function afterOthers(reader: Reader, pacing: Pacing): Pacing {
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
    isWaiting: () => !isKnown || pacing.isWaiting(),
    onPassed: (resume) => {
      if (isKnown) pacing.onPassed(resume);
      else void (known ??= look()).then(resume);
    },
  };
}
