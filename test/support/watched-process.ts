import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BUILT } from "./built.ts";
import { TYPESCRIPT } from "./typescript.ts";
import type { Condition } from "./watched-gateway.ts";
import { post } from "./raw-requests.ts";

const PROGRAM = fileURLToPath(new URL("watched-gateway.ts", import.meta.url));

/** A gateway in a process of its own with these settings, whose event loop and heap can be observed. */
export async function startWatched(upstreamUrl: string, env: Readonly<Record<string, string>> = {}) {
  const child = fork(PROGRAM, [BUILT, upstreamUrl], { env, execArgv: ["--expose-gc", ...TYPESCRIPT] });
  const [url] = (await once(child, "message")) as [string];
  return {
    url,
    post: (body: object, token: string | null = null) =>
      post(`${url}/graphql`, body, { authorization: token === null ? "" : `token ${token}` }),
    condition: async (): Promise<Condition> => {
      child.send("condition");
      const [condition] = (await once(child, "message")) as [Condition];
      return condition;
    },
    stop: () => void child.kill(),
  };
}
