import { onTestFinished } from "vitest";
import { passedOn, pathIn, startFake } from "../support/fake.ts";

/**
 * Stands in front of a service and answers in rounds: nothing of a round is answered before all of it was asked.
 * A gateway that asks one after the other what could go side by side never gets its answer; what no round expects
 * is refused. So the number of rounds is counted without a clock.
 */
export async function startRounds(behind: { readonly url: string }, rounds: readonly (readonly string[])[]) {
  const strays: string[] = [];
  let round = 0;
  let waiting = new Map<string, () => void>();
  const release = () => waiting.forEach((each) => each());
  onTestFinished(release);

  const { url } = await startFake(async (seen) => {
    const asked = pathIn(seen.path);
    if (!rounds[round]?.includes(asked) || waiting.has(asked)) {
      strays.push(`${asked} in round ${round + 1}`);
      return { text: "", status: 500 };
    }
    await new Promise<void>((reported) => {
      waiting.set(asked, reported);
      if (waiting.size < (rounds[round]?.length ?? 0)) return;
      release();
      waiting = new Map();
      round++;
    });
    return passedOn(behind.url, seen);
  });
  return { url, strays, answered: () => round };
}
