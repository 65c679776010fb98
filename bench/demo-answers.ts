import { startDemo } from "../demo/service.ts";

const demo = await startDemo();
const known = new Map<string, Promise<{ status: number; body: Buffer }>>();

/** A valid token of the demo. */
export const token = demo.users[0]?.token ?? "";

/** Returns the demo's response at a path. Only the first call sends a request; later calls return the response from memory. */
export function answerOf(path: string): Promise<{ status: number; body: Buffer }> {
  const answer = known.get(path) ?? look(path);
  known.set(path, answer);
  return answer;
}

async function look(path: string) {
  const response = await fetch(demo.url + path, { headers: { authorization: `token ${token}` } });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}
