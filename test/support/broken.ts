import { createHash } from "node:crypto";
import { listen } from "./listen.ts";

const BROKEN: readonly (readonly [status: number, body: string])[] = [
  [404, '{"detail":"Not found."}'],
  [403, '{"detail":"You may not."}'],
  [500, "<h1>Server Error</h1>"],
  [200, '{"id":"no number","results":[null,1]}'],
  [200, "[]"],
];

/** A service in front of another, at which some addresses fail, always the same ones and in the same way. */
export async function startBroken(
  service: string,
  share: number,
  kept: RegExp | null,
): Promise<{ url: string }> {
  const url = await listen(async (request, response) => {
    const [first = 0, second = 0] = createHash("sha256")
      .update(request.url ?? "")
      .digest();
    if (first < share * 256 && !kept?.test(request.url ?? "")) {
      const [status, body] = BROKEN[second % BROKEN.length] ?? [500, ""];
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return;
    }
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${service}${request.url}`, { headers: { authorization } });
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(body);
  });
  return { url };
}
