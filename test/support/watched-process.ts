import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { TYPESCRIPT } from "./typescript.ts";
import type { Condition } from "./watched-gateway.ts";
import { post } from "./raw-requests.ts";

const PROGRAM = fileURLToPath(new URL("watched-gateway.ts", import.meta.url));

/**
 * Starts a gateway in a separate process, so that its event loop and heap can be observed. `built` is the folder where the gateway was
 * built.
 */
export async function startWatched(
  built: string,
  upstreamUrl: string,
  env: Readonly<Record<string, string>> = {},
) {
  const child = fork(PROGRAM, [built, upstreamUrl], { env, execArgv: ["--expose-gc", ...TYPESCRIPT] });
  const [url] = (await once(child, "message")) as [string];
  return {
    url,
    post: (body: object, token: string | null = null) =>
      post(`${url}/graphql`, body, { authorization: token === null ? "" : `token ${token}` }),
    get: (path: string, token: string) =>
      fetch(url + path, { headers: { authorization: `token ${token}`, "accept-encoding": "identity" } }),
    watch: () => void child.send("watch"),
    condition: async (): Promise<Condition> => {
      child.send("condition");
      const [condition] = (await once(child, "message")) as [Condition];
      return condition;
    },
    stop: () => void child.kill(),
  };
}
