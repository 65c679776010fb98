import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import type { Target } from "./fire.ts";

/**
 * Keeps `WIDTH` operations of one token in flight, in its own process. A failed operation is sent again after `MOMENT_MS`. The parent's
 * first message is the target. On its second message, this process replies with the number of responses by status and code.
 */
const WIDTH = 250;
const MOMENT_MS = 50;

const counts = new Map<string, number>();

async function keep(pool: Pool, { token, body }: Target): Promise<never> {
  const headers = { "content-type": "application/json", authorization: `token ${token}` };
  for (;;) {
    const word = await pool.request({ method: "POST", path: "/graphql", headers, body }).then(
      async (answer) => {
        const code = /"code":"(\w+)"/.exec(await answer.body.text())?.[1] ?? "ok";
        return `${answer.statusCode} ${code}`;
      },
      () => "no answer",
    );
    counts.set(word, (counts.get(word) ?? 0) + 1);
    if (word !== "200 ok") await sleep(MOMENT_MS);
  }
}

process.once("message", (target: Target) => {
  const pool = new Pool(target.url, { connections: WIDTH, headersTimeout: 60_000 });
  for (let caller = 0; caller < WIDTH; caller++) void keep(pool, target);
  process.once("message", () => process.send?.(Object.fromEntries(counts)));
});
process.once("disconnect", () => process.exit(0));
