import { onTestFinished } from "vitest";
import { passedOn, pathIn, startFake } from "../support/fake.ts";

/**
 * Stands in front of a service and responds in rounds: no request of a round gets a response before all of them have arrived. A gateway
 * that sends parallel requests one after the other never gets a response, and a request that no round expects is rejected. The number of
 * rounds is thereby counted without a clock.
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
