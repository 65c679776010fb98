import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "../support/demo-clock.ts";

describe("what the demo tells beyond the document", () => {
  test("a failed experiment has the traceback of its error, a failed job has none", async () => {
    const { ask } = await openDemo();
    const last = async (path: string) => (await ask(`GET ${MNIST}/${path}/statuses`)).json.results.at(-1);
    const { message, traceback } = await last("experiments/3");
    expect(traceback.split("\n").at(0)).toBe("Traceback (most recent call last):");
    expect(traceback.split("\n").at(-1)).toBe(message);
    expect(await last("experiments/1")).toMatchObject({ status: "succeeded", traceback: null });
    expect(await last("jobs/3")).toMatchObject({ status: "failed", traceback: null });
  });

  test("experiments tell which code they run; one without a build has none", async () => {
    const { ask } = await openDemo();
    const { json: build } = await ask(`GET ${MNIST}/builds/2/`);
    expect((await ask(`GET ${MNIST}/experiments/42/coderef`)).json).toMatchObject({
      branch: "wide-kernels",
      commit: build.commit,
      is_dirty: true,
      git_url: null,
    });
    expect((await ask(`GET ${MNIST}/experiments/999/coderef`)).status).toBe(404);
    expect((await ask(`GET ${MNIST}/jobs/1/coderef`)).type).toBe("text/html; charset=utf-8");
  });

  test("there are a copy, a restart and a run that was resumed after somebody stopped it", async () => {
    const { ask } = await openDemo();
    const clone = async (path: string) => {
      const { original, cloning_strategy: strategy } = (await ask(`GET ${path}/`)).json;
      return [strategy, original];
    };
    expect(await clone(`${MNIST}/experiments/37`)).toEqual(["copy", "ada.mnist.4"]);
    expect(await clone(`${MNIST}/experiments/42`)).toEqual(["restart", "ada.mnist.37"]);
    expect(await clone("grace/vision/experiments/60")).toEqual(["resume", "grace.vision.38"]);
    expect((await ask("GET grace/vision/experiments/38/")).json.last_status).toBe("stopped");
    expect(await clone(`${MNIST}/experiments/1`)).toEqual([null, null]);
  });

  test("a project has notes and counts, which its row in the list lacks; a private one is forbidden", async () => {
    const { ask, as } = await openDemo();
    const { json } = await ask(`GET ${MNIST}`);
    expect(json).toMatchObject({
      unique_name: "ada.mnist",
      readme: expect.stringMatching(/^# MNIST\n/),
      num_experiments: 46,
      num_independent_experiments: 10,
      num_experiment_groups: 2,
      num_jobs: 6,
      num_builds: 5,
    });
    const [row] = (await ask("GET ada")).json.results.slice(-1);
    expect(json).toMatchObject(row);
    expect(row).not.toHaveProperty("readme");
    expect((await as("grace")("GET ada/speech")).status).toBe(403);
    expect((await ask("GET ada/nosuch")).status).toBe(404);
  });

  test("an update is taken whole or not at all", async () => {
    const { ask } = await openDemo();
    const update = (body: object) => ask(`PATCH ${MNIST}/experiments/1/`, body);
    expect((await update({ readme: "new", name: "not a slug!" })).json).toEqual({
      name: ["Enter a valid “slug” consisting of letters, numbers, underscores or hyphens."],
    });
    expect((await update({ readme: "new", tags: "a" })).json).toEqual({
      tags: ['Expected a list of items but got type "str".'],
    });
    expect((await update({})).json).toMatchObject({ name: "baseline", readme: null });
    expect((await update({ name: "b", tags: null, readme: "new" })).json).toMatchObject({
      name: "b",
      tags: null,
      readme: "new",
      description: "Two convolutions, nothing else",
    });
  });
});
