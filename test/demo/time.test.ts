import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "../support/demo-clock.ts";

describe("the clock of the demo", () => {
  test("a restarted experiment goes its way by the clock and records metrics while it runs", async () => {
    const { ask, wait } = await openDemo();
    const { status, json } = await ask(`POST ${MNIST}/experiments/42/restart/`, { description: "again" });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: 61,
      name: null,
      unique_name: "ada.mnist.61",
      description: "again",
      created_at: expect.stringMatching(/^2026-06-01T12:00:00\.\d{6}\+00:00$/),
      started_at: null,
      finished_at: null,
      last_status: "created",
      original: "ada.mnist.42",
      build_job: null,
      tags: null,
    });
    const look = async () => (await ask(`GET ${MNIST}/experiments/61/`)).json;
    expect(await look()).toMatchObject({ is_clone: true, num_jobs: 0, last_metric: {} });
    expect((await ask(`GET ${MNIST}/experiments/61/logs/`)).json).toBe("Log file not found");
    wait(3.999);
    expect(await look()).toMatchObject({ last_status: "created" });
    wait(0.001);
    expect(await look()).toMatchObject({ last_status: "scheduled", num_jobs: 1 });
    wait(4);
    expect(await look()).toMatchObject({ last_status: "starting", started_at: null });
    wait(12);
    const running = await look();
    expect(running).toMatchObject({ last_status: "running", finished_at: null });
    expect(running.started_at).toMatch(/^2026-06-01T12:00:12\.\d{6}\+00:00$/);
    const early = await ask(`GET ${MNIST}/experiments/61/metrics`);
    expect(early.json.count).toBe(4);
    expect(running.last_metric).toEqual(early.json.results[3].values);
    const log = (await ask(`GET ${MNIST}/experiments/61/logs/`)).text;
    wait(3_600);
    expect(await look()).toMatchObject({
      last_status: "succeeded",
      finished_at: expect.stringContaining("12:00:40."),
    });
    const late = await ask(`GET ${MNIST}/experiments/61/metrics`);
    expect(late.json.count).toBe(13);
    expect(late.json.results.slice(0, 4)).toEqual(early.json.results);
    const whole = (await ask(`GET ${MNIST}/experiments/61/logs/`)).text;
    expect(whole.startsWith(log)).toBe(true);
    expect(whole).toMatch(/ada\.mnist\.61 succeeded\n$/);
    const { results } = (await ask(`GET ${MNIST}/experiments/61/statuses`)).json;
    expect(results.map((record: { status: string }) => record.status)).toEqual([
      "created",
      "scheduled",
      "starting",
      "running",
      "succeeded",
    ]);
  });

  test("the job of an experiment moves with it", async () => {
    const { ask, wait } = await openDemo();
    await ask(`POST ${MNIST}/experiments/1/copy`);
    wait(15);
    const [job] = (await ask(`GET ${MNIST}/experiments/61/jobs`)).json.results;
    expect(job).toMatchObject({
      unique_name: `ada.mnist.61.${job.id}.master`,
      role: "master",
      experiment: 61,
      last_status: "running",
      node_scheduled: "node-1",
    });
    const { results } = (await ask(`GET ${MNIST}/experiments/61/jobs/${job.id}/statuses/`)).json;
    expect(results.map((record: { status: string }) => record.status)).toEqual([
      "created",
      "scheduled",
      "building",
      "running",
    ]);
  });

  test.each(["experiments/43", "jobs/2", "builds/5"])(
    "stopping %s is seen at once and over two seconds later; nothing else happens to it",
    async (path) => {
      const { ask, wait } = await openDemo();
      expect(await ask(`POST ${MNIST}/${path}/stop`)).toMatchObject({ status: 200, text: "" });
      expect((await ask(`GET ${MNIST}/${path}/`)).json).toMatchObject({
        last_status: "stopping",
        finished_at: null,
      });
      await ask(`POST ${MNIST}/${path}/stop`);
      wait(2);
      const { json } = await ask(`GET ${MNIST}/${path}/`);
      expect(json).toMatchObject({ last_status: "stopped", finished_at: json.updated_at });
      wait(36_000);
      expect((await ask(`GET ${MNIST}/${path}/`)).json).toEqual(json);
    },
  );

  test("a group ends when its experiments have ended, and stopping it stops those that have not", async () => {
    const { ask, wait } = await openDemo();
    const counts = async (id: number) => {
      const { json } = await ask(`GET ${MNIST}/groups/${id}/`);
      return [
        json.last_status,
        json.num_running_experiments,
        json.num_succeeded_experiments,
        json.num_stopped_experiments,
      ];
    };
    expect(await counts(2)).toEqual(["running", 5, 3, 0]);
    await ask(`POST ${MNIST}/groups/1/stop`);
    expect(await counts(1)).toEqual(["stopping", 4, 15, 2]);
    wait(2);
    expect(await counts(1)).toEqual(["stopped", 0, 15, 6]);
    wait(7_200);
    expect(await counts(2)).toEqual(["succeeded", 0, 12, 0]);
  });

  test("the log of a running run only grows", async () => {
    const { ask, wait } = await openDemo();
    for (const path of [`${MNIST}/experiments/43/logs/`, `${MNIST}/jobs/2/logs`, `${MNIST}/builds/5/logs`]) {
      const before = await ask(`GET ${path}`);
      wait(60);
      const after = await ask(`GET ${path}`);
      expect(before.text.split("\n").length).toBeGreaterThan(50);
      expect(after.text.length).toBeGreaterThan(before.text.length);
      expect(after.text.startsWith(before.text)).toBe(true);
    }
  });

  test("what is told about a run does not depend on how often somebody asked", async () => {
    const [first, second] = [await openDemo(), await openDemo()];
    for (let minute = 0; minute < 30; minute += 1) {
      first.wait(60);
      await first.ask(`GET ${MNIST}/groups/2/`);
    }
    second.wait(1_800);
    for (const path of [
      `${MNIST}/groups/2/`,
      `${MNIST}/experiments/50/`,
      `${MNIST}/experiments/50/metrics?limit=1`,
    ]) {
      const [watched, unwatched] = [await first.ask(`GET ${path}`), await second.ask(`GET ${path}`)];
      expect(watched.text.replaceAll(first.demo.url, "")).toBe(
        unwatched.text.replaceAll(second.demo.url, ""),
      );
    }
  });
});
