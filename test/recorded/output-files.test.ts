import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { lineOf, readRecording, startReplay } from "../support/replay.ts";

const further = readRecording("0.4.4-further");

/** Downloads a file from a service that knows only this exchange. */
async function download(name: string, type: string, path: string) {
  const line = lineOf(further, name);
  const upstream = await startReplay([line]);
  const { url } = await startGateway({ upstream, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const response = await fetch(`${url}/downloads/${globalId(`${type}:alice/mnist/1`)}/files?path=${path}`, {
    headers: { authorization: line.headers["Authorization"] ?? "" },
  });
  expect(upstream.seen().map((seen) => seen.path)).toEqual([line.path]);
  const { status, headers } = response;
  return { line, status, disposition: headers.get("content-disposition"), body: await response.text() };
}

test.each([
  ["file", "Experiment", "x.txt"],
  ["file (41)", "Job", "r.csv"],
])("the download of a file is what release 0.4.4 sends: %s", async (name, type, path) => {
  const { line, ...told } = await download(name, type, path);
  expect(told).toEqual({
    status: 200,
    disposition: `attachment; filename="${path}"`,
    body: line.text,
  });
});

test.each([
  ["file that is missing", "Experiment"],
  ["file that is missing (42)", "Job"],
])("a missing file of release 0.4.4 is told without the path of the server: %s", async (name, type) => {
  const { line, status, body } = await download(name, type, "nothing.txt");
  expect(line.json).toContain("/plx/outputs/");
  expect(status).toBe(404);
  expect(JSON.parse(body)).toMatchObject({
    errors: [
      {
        message: expect.stringMatching(/^Not found: nothing\.txt of [\w.]+\.$/),
        extensions: { code: "NOT_FOUND" },
      },
    ],
  });
  expect(body).not.toContain("plx");
});
