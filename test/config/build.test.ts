import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createFolder } from "../support/build.ts";
import { BUILT } from "../support/built.ts";
import { DEMO_TOKEN, READY_LINE, startMain } from "../support/main-process.ts";
import { profileFile } from "../support/tracker.ts";

/** The built gateway with its demo. */
async function startGateway(environment: Record<string, string> = {}, folder = BUILT) {
  const { printed, ...built } = startMain({ PORT: "0", ...environment }, [], folder);
  const [, url = ""] = await printed(READY_LINE);
  const [, token = ""] = await printed(DEMO_TOKEN);
  const ask = async (query: string): Promise<{ data: unknown }> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `token ${token}` },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as { data: unknown };
  };
  return { ...built, printed, url, token, ask };
}

test("the built gateway answers by POST and by GET, and tells its subgraph", async () => {
  const { url, ask } = await startGateway();
  expect(await ask(`{ experiment(id: "ada.mnist.42") { uniqueName config { kind } } }`)).toEqual({
    data: { experiment: { uniqueName: "ada.mnist.42", config: { kind: "experiment" } } },
  });
  const got = await fetch(`${url}?query={__typename}`);
  expect(await got.json()).toEqual({ data: { __typename: "Query" } });
  const { data } = await ask("{ _service { sdl } }");
  await expect((data as { _service: { sdl: string } })._service.sdl).toMatchFileSnapshot(
    "../../schema/subgraph.graphql",
  );
});

test("the built gateway serves the page with all its files", async () => {
  const { url } = await startGateway();
  const page = await fetch(url, { headers: { accept: "text/html" } });
  const files = [...(await page.text()).matchAll(/(?:src|href)="(graphiql\/[^"]+)"/g)];
  expect(files.length).toBeGreaterThan(4);
  for (const [, file = ""] of files) expect((await fetch(new URL(file, url))).status).toBe(200);
});

test("the built gateway passes on archives", async () => {
  const { url, token, ask } = await startGateway();
  const { data } = await ask(`{ experiment(id: "ada.mnist.42") { outputsUrl } }`);
  const { experiment } = data as { experiment: { outputsUrl: string } };
  const headers = { authorization: `token ${token}` };
  const response = await fetch(experiment.outputsUrl, { headers });
  const files = gunzipSync(await response.arrayBuffer()).toString();
  expect(new URL(experiment.outputsUrl).origin).toBe(new URL(url).origin);
  expect(files).toContain("ada_mnist_42/metrics.csv");
});

test("the built gateway renames types and reads a profile in YAML", async () => {
  const { ask } = await startGateway({
    TYPE_NAMES: "Node=Machine",
    UPSTREAM_PROFILE: profileFile("extends: polyaxon-0.4\napiVersion: v9\n"),
  });
  expect(await ask(`{ __type(name: "Machine") { name } gateway { upstreamApiVersion } }`)).toEqual({
    data: { __type: { name: "Machine" }, gateway: { upstreamApiVersion: "v9" } },
  });
});

test("the log of the built gateway names the places of unexpected errors in the sources", async () => {
  const folder = createFolder("incomplete-");
  for (const part of ["dist", "package.json", "schema"])
    cpSync(join(BUILT, part), join(folder, part), { recursive: true });
  symlinkSync(join(BUILT, "node_modules"), join(folder, "node_modules"));
  const { url, printed } = await startGateway({}, folder);
  await expect(fetch(url, { headers: { accept: "text/html" } })).rejects.toThrow("fetch failed");
  const [line] = await printed(/^.*"unexpected error".*$/m);
  expect(JSON.parse(line)).toMatchObject({
    at: expect.arrayContaining([expect.stringMatching(/^src\/http\/graphiql\/assets\.ts:\d+:\d+$/)]),
  });
});
