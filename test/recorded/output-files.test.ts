import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { lineOf, readRecording, startReplay } from "../support/replay.ts";

const further = readRecording("0.4.4-further");

test.each([
  ["file", "Experiment", "x.txt"],
  ["file that is missing", "Experiment", "nothing.txt"],
  ["file (41)", "Job", "r.csv"],
  ["file that is missing (42)", "Job", "nothing.txt"],
])("the download of a file is what release 0.4.4 sends: %s", async (name, type, path) => {
  const line = lineOf(further, name);
  const upstream = await startReplay([line]);
  const { url } = await startGateway({ upstream, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const id = globalId(`${type}:alice/mnist/1`);
  const response = await fetch(`${url}/downloads/${id}/files?path=${path}`, {
    headers: { authorization: line.headers["Authorization"] ?? "" },
  });
  const body = await response.text();
  expect(response.status).toBe(line.status);
  expect(upstream.seen().map((seen) => seen.path)).toEqual([line.path]);
  if (line.status === 200) {
    expect(body).toBe(line.text);
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${path}"`);
  } else {
    expect(JSON.parse(body)).toMatchObject({
      errors: [{ message: "Not found.", extensions: { code: "NOT_FOUND" } }],
    });
    expect(body).not.toContain("plx");
  }
});
