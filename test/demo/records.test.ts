import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "../support/demo-clock.ts";

describe("what the demo stores", () => {
  test("experiment 42 is rich: cloned from a clone, built, and run by four jobs on three machines", async () => {
    const { ask } = await openDemo();
    const { json } = await ask(`GET ${MNIST}/experiments/42/`);
    expect(json).toMatchObject({
      unique_name: "ada.mnist.42",
      original: "ada.mnist.37",
      experiment_group: null,
      tags: ["cnn", "candidate"],
      declarations: { lr: 0.021, dropout: 0.25, activation: "relu", batch_size: 64, kernel: 5 },
      num_jobs: 4,
      bookmarked: true,
    });
    expect(json.uuid).toMatch(/^[0-9a-f]{32}$/);
    expect((await ask(`GET ${MNIST}/experiments/37/`)).json.original).toBe("ada.mnist.4");
    const jobs = (await ask(`GET ${MNIST}/experiments/42/jobs`)).json.results;
    expect(
      jobs.map((job: { role: string; node_scheduled: string }) => [job.role, job.node_scheduled]),
    ).toEqual([
      ["worker", "gpu-node.eu-1"],
      ["worker", "node-2"],
      ["worker", "node-1"],
      ["master", "gpu-node.eu-1"],
    ]);
    const log = (await ask(`GET ${MNIST}/experiments/42/logs/`)).text;
    expect(log).toContain("学習は順調です 🚀");
    expect(log.split("\n").length).toBeGreaterThan(300);
  });

  test("group 1 has 24 experiments in every state, with curves of 20 to 60 records", async () => {
    const { ask } = await openDemo();
    expect((await ask(`GET ${MNIST}/groups/1/`)).json).toMatchObject({
      num_experiments: 24,
      num_pending_experiments: 1,
      num_running_experiments: 3,
      num_succeeded_experiments: 15,
      num_failed_experiments: 3,
      num_stopped_experiments: 2,
    });
    for (const id of [9, 12, 17, 28]) {
      const { json } = await ask(`GET ${MNIST}/experiments/${id}/metrics`);
      expect(json.count).toBeGreaterThanOrEqual(20);
      expect(json.count).toBeLessThanOrEqual(60);
    }
    const failed = (await ask(`GET ${MNIST}/experiments/12/statuses`)).json.results.at(-1);
    expect(failed).toMatchObject({ status: "failed", message: expect.stringContaining("out of memory") });
    expect((await ask(`GET ${MNIST}/experiments/46/`)).json.last_status).toBe("unschedulable");
  });

  test("one job names a machine that is no longer in the cluster", async () => {
    const { ask } = await openDemo();
    const { node_scheduled: name } = (await ask(`GET ${MNIST}/jobs/4/`)).json;
    const { nodes } = (await ask("GET cluster/")).json;
    expect(name).toBe("node-9");
    expect(nodes.map((node: { name: string }) => node.name)).toEqual(["node-2", "gpu-node.eu-1", "node-1"]);
    expect(nodes[0].memory).toBeGreaterThan(2 ** 32);
    expect((await ask("GET nodes/3")).json.gpus).toHaveLength(2);
  });

  test("the first status of a job or build has no details, the others have none to tell", async () => {
    const { ask } = await openDemo();
    for (const path of ["jobs/1", "builds/1"]) {
      const [first, second] = (await ask(`GET ${MNIST}/${path}/statuses`)).json.results;
      expect(first).not.toHaveProperty("details");
      expect(second).toMatchObject({ details: null, job: 1 });
    }
  });

  test("a run that never ran has no log", async () => {
    const { ask } = await openDemo();
    for (const path of [`${MNIST}/experiments/46/logs/`, `${MNIST}/jobs/6/logs`]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, json: "Log file not found" });
    }
  });

  test("outputs are an archive of small files", async () => {
    const { demo } = await openDemo();
    const response = await fetch(`${demo.url}/api/v1/${MNIST}/experiments/42/outputs`, {
      headers: { authorization: `token ${demo.users[0]?.token}` },
    });
    const files = new Map<string, string>();
    const bytes = Buffer.from(await response.arrayBuffer());
    for await (const entry of Readable.from([bytes]).pipe(createGunzip()).pipe(extract())) {
      files.set(entry.header.name, await readText(entry));
    }
    expect([...files.keys()]).toEqual([
      "ada_mnist_42/metrics.csv",
      "ada_mnist_42/params.json",
      "ada_mnist_42/README.txt",
      ...["1", "2", "3"].map(() => expect.stringMatching(/^ada_mnist_42\/checkpoints\/\d+\.json$/)),
    ]);
    expect(files.get("ada_mnist_42/metrics.csv")?.split("\n")[0]).toBe("created_at,loss,accuracy");
  });

  test("outputs tell their length, and are read on from where they broke off", async () => {
    const { demo } = await openDemo();
    const load = (headers: Record<string, string> = {}) =>
      fetch(`${demo.url}/api/v1/${MNIST}/experiments/42/outputs`, {
        headers: { authorization: `token ${demo.users[0]?.token}`, ...headers },
      });
    const whole = await load();
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(whole.headers.get("content-length")).toBe(String(bytes.length));
    const etag = whole.headers.get("etag") ?? "";

    const rest = await load({ range: "bytes=100-", "if-range": etag });
    expect(rest.status).toBe(206);
    expect(rest.headers.get("content-range")).toBe(`bytes 100-${bytes.length - 1}/${bytes.length}`);
    expect(Buffer.from(await rest.arrayBuffer())).toEqual(bytes.subarray(100));
    const end = await load({ range: "bytes=-10" });
    expect(Buffer.from(await end.arrayBuffer())).toEqual(bytes.subarray(-10));
    expect((await load({ range: "bytes=100-", "if-range": '"another"' })).status).toBe(200);
    expect((await load({ range: `bytes=${bytes.length}-` })).status).toBe(416);
  });

  test("ids, names and tokens are the same in every service", async () => {
    const [first, second] = [await openDemo(), await openDemo()];
    expect(first.demo.users).toEqual(second.demo.users);
    for (const path of [
      `${MNIST}/experiments/42/`,
      `${MNIST}/groups/2/`,
      `${MNIST}/experiments/50/statuses`,
    ]) {
      expect((await first.ask(`GET ${path}`)).text).toBe((await second.ask(`GET ${path}`)).text);
    }
  });
});
