import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BUILT } from "./built.ts";
import type { Condition } from "./watched-gateway.ts";

let bundled: Promise<string> | undefined;

/** The watched gateway in one file, beside the build and its packages. */
async function bundle(): Promise<string> {
  const outfile = join(BUILT, `watched-${process.pid}/gateway.mjs`);
  await build({
    entryPoints: [fileURLToPath(new URL("watched-gateway.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
  });
  return outfile;
}

/** A gateway in a process of its own, whose event loop and heap can be looked at. */
export async function startWatched(upstreamUrl: string) {
  bundled ??= bundle();
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
