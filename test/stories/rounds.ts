import { onTestFinished } from "vitest";
import { pathIn } from "../support/fake.ts";
import { listen } from "../support/listen.ts";

/**
 * Stands in front of a service and answers in rounds: nothing of a round is answered before all of it was asked.
 * A gateway that asks one after the other what could go side by side never gets its answer; what no round expects
 * is refused. So the number of rounds is counted without a clock.
 */
export async function startRounds(behind: { readonly url: string }, rounds: readonly (readonly string[])[]) {
  const strays: string[] = [];
  let round = 0;
  let waiting = new Map<string, () => void>();
  onTestFinished(() => {
    for (const release of waiting.values()) release();
  });

  const url = await listen(async (request, response) => {
    const { url: path = "", headers } = request;
    const asked = pathIn(path);
    if (!rounds[round]?.includes(asked) || waiting.has(asked)) {
      strays.push(`${asked} in round ${round + 1}`);
      response.writeHead(500).end();
      return;
    }
    await new Promise<void>((release) => {
      waiting.set(asked, release);
      if (waiting.size < (rounds[round]?.length ?? 0)) return;
      for (const each of waiting.values()) each();
      waiting = new Map();
      round++;
    });
    const answer = await fetch(behind.url + path, {
      headers: { authorization: headers.authorization ?? "" },
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  return { url, strays, answered: () => round };
}
