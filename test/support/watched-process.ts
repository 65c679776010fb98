import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { BUILT } from "./built.ts";
import { bundle } from "./bundle.ts";
import type { Condition } from "./watched-gateway.ts";

let bundled: Promise<string> | undefined;

/** A gateway in a process of its own, whose event loop and heap can be looked at. */
export async function startWatched(upstreamUrl: string) {
  // Beside the build, where its packages are found.
  bundled ??= bundle("test/support/watched-gateway.ts", join(BUILT, `watched-${process.pid}/gateway.mjs`), {
    external: true,
  });
  const child = fork(await bundled, [upstreamUrl], { execArgv: ["--expose-gc"] });
  const [url] = (await once(child, "message")) as [string];
  return {
    url,
    post: (body: object, token: string | null = null) =>
      fetch(`${url}/graphql`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token && { authorization: `token ${token}` }),
        },
        body: JSON.stringify(body),
      }),
    condition: async (): Promise<Condition> => {
      child.send("condition");
      const [condition] = (await once(child, "message")) as [Condition];
      return condition;
    },
    stop: () => void child.kill(),
  };
}
