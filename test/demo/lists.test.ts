import { describe, expect, test } from "vitest";
import { idsIn, MNIST, openDemo } from "../support/demo-clock.ts";

describe("lists of the demo", () => {
  test("pages are linked by addresses made from the Host header", async () => {
    const { demo, ask } = await openDemo();
    const { json } = await ask(`GET ${MNIST}/experiments?sort=created_at&offset=2&limit=3`);
    expect(json.count).toBe(46);
    expect(json.next).toBe(`${demo.url}/api/v1/${MNIST}/experiments?limit=3&offset=5&sort=created_at`);
    expect(json.previous).toBe(`${demo.url}/api/v1/${MNIST}/experiments?limit=3&sort=created_at`);
    const seen: number[] = [];
    for (let link: string | null = `${MNIST}/experiments?limit=20&sort=created_at`; link;) {
      const answer = await ask(`GET ${link}`);
      seen.push(...idsIn(answer));
      link = answer.json.next && answer.json.next.replace(`${demo.url}/api/v1/`, "");
    }
    expect(seen).toHaveLength(46);
    expect(new Set(seen).size).toBe(46);
    expect(idsIn(await ask(`GET ${MNIST}/experiments?limit=nonsense&offset=-1`))).toHaveLength(20);
  });

  test("rows lack what the full record has, exactly as release 0.4.4", async () => {
    const { ask } = await openDemo();
    const missing = async (list: string, detail: string) => {
      const row = (await ask(`GET ${MNIST}/${list}`)).json.results[0];
      const record = (await ask(`GET ${MNIST}/${detail}/${row.id}/`)).json;
      const absent = Object.keys(record).filter((key) => !(key in row));
      expect(record).toMatchObject(row);
      return absent.toSorted().join(" ");
    };
    expect(await missing("experiments", "experiments")).toBe(
      "code_reference config data_refs has_tensorboard is_clone num_jobs readme resources run_env",
    );
    expect(await missing("jobs", "jobs")).toBe("config data_refs is_clone node_scheduled readme resources");
    expect(await missing("builds", "builds")).toBe(
      "commit config dockerfile node_scheduled num_experiments num_jobs resources",
    );
    expect(await missing("groups", "groups")).toBe(
      "content current_iteration hptuning num_experiments num_failed_experiments num_pending_experiments " +
        "num_running_experiments num_scheduled_experiments num_stopped_experiments num_succeeded_experiments readme",
    );
  });

  test("queries filter", async () => {
    const { ask } = await openDemo();
    const list = (query: string, kind = "experiments") =>
      ask(`GET ${MNIST}/${kind}?limit=100&sort=created_at&${query}`);
    expect(idsIn(await list("query=id:3|1|42|999"))).toEqual([1, 3, 42]);
    expect(idsIn(await list("query=id:1|99", "builds"))).toEqual([1]);
    expect(idsIn(await list("query=id:2|5", "jobs"))).toEqual([5, 2]);
    expect(idsIn(await list("query=id:2", "groups"))).toEqual([2]);
    expect(idsIn(await list("query=status:failed|upstream_failed"))).toEqual([3, 12, 20, 27, 41]);
    expect(idsIn(await list("query=status:~succeeded,build:1"))).toEqual([5, 12, 17]);
    expect(idsIn(await list("query=build:3"))).toEqual([41]);
    expect(idsIn(await list("query=tags:candidate"))).toEqual([42]);
    expect(idsIn(await list("query=group:~1,group:~2,build.id:4"))).toEqual([39, 40]);
    expect(idsIn(await list("query=declarations.activation:relu|tanh,independent:true"))).toEqual([
      4, 37, 42,
    ]);
    expect(idsIn(await list("query=project.name:mnist,user.username:~grace,name:baseline"))).toEqual([1]);
    expect(idsIn(await list("query=created_at:2026-02-16..2026-02-17,created_at:~2026-02-17"))).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect(idsIn(await list("query=finished_at:<2026-02-17"))).toEqual([1, 2, 3, 4, 5]);
    expect(idsIn(await list("query=metric.loss:~>0.1,metric.loss:>0.09"))).toEqual(
      idsIn(await list("query=metric.loss:<=0.1,metric.loss:>0.09")),
    );
    expect(idsIn(await list("group=1"))).toHaveLength(24);
    expect(idsIn(await list("independent=true"))).toEqual([1, 2, 3, 4, 5, 37, 39, 40, 41, 42]);
    for (const { last_metric: last } of (await list("query=metric.loss:<0.2")).json.results) {
      expect(last.loss).toBeLessThan(0.2);
    }
    expect(await list("group=999")).toMatchObject({ status: 404, json: { detail: "Not found." } });
  });

  test("a number that was declared does not match its digits", async () => {
    const { ask } = await openDemo();
    expect(idsIn(await ask(`GET ${MNIST}/experiments?query=declarations.lr:0.02`))).toEqual([]);
  });

  test("a query that the database cannot take is a crash", async () => {
    const { ask } = await openDemo();
    for (const query of ["user:ada", "id:one", "build:ada.mnist.builds.1", "created_at:abc"]) {
      expect(await ask(`GET ${MNIST}/experiments?query=${query}`)).toMatchObject({
        status: 500,
        type: "text/html; charset=utf-8",
      });
    }
  });

  test("a query that cannot be read is refused with a bare list", async () => {
    const { ask } = await openDemo();
    for (const [path, fault] of [
      ["experiments?query=nonsense:1", "key `nonsense` is not supported by query manager `experiment`."],
      ["groups?query=build:1", "key `build` is not supported by query manager `experiment_group`."],
      [
        "jobs?query=status",
        "Expression is not valid, it must be formatted as name:operation, Expression: status",
      ],
      ["experiments?query=metric.loss:abc", "Scalar operation requires int or float params, receive abc."],
      ["experiments?query=metric.a.b:1", "key `metric.a.b` is not supported by query manager `experiment`."],
      [
        "experiments?query=declarations.lr:>0.01",
        "`>` is not allowed for value operations, Operation: >0.01",
      ],
      ["experiments?query=name:a..b", "`..` is not allowed for value operations. Operation: a..b"],
      ["experiments?query=created_at:a|b", "`|` is not allowed for datetime operations. Operation: a|b"],
      [
        "experiments?query=started_at:>=2026-03-01%2010:00",
        "Expression is not valid, it must be formatted as name:operation, Expression: started_at:>=2026-03-01 10:00",
      ],
    ]) {
      expect(await ask(`GET ${MNIST}/${path}`)).toMatchObject({ status: 400, json: [fault] });
    }
  });

  test("lists are ordered by the newest change unless they are told otherwise", async () => {
    const { ask } = await openDemo();
    await ask(`PATCH ${MNIST}/experiments/3/`, { description: "touched" });
    expect(idsIn(await ask(`GET ${MNIST}/experiments?limit=1`))).toEqual([3]);
    expect(idsIn(await ask(`GET ${MNIST}/experiments?limit=3&sort=created_at`))).toEqual([1, 2, 3]);
    const losses = (await ask(`GET ${MNIST}/experiments?limit=30&sort=metric.loss`)).json.results.map(
      (row: { last_metric: { loss: number } }) => row.last_metric.loss,
    );
    expect(losses).toEqual(losses.toSorted((a: number, b: number) => a - b));
    expect(idsIn(await ask(`GET ${MNIST}/jobs?limit=1&sort=finished_at`))).toEqual([1]);
    const unknown = idsIn(await ask(`GET ${MNIST}/experiments?sort=metric.train/loss`));
    expect(unknown).toEqual(idsIn(await ask(`GET ${MNIST}/experiments`)));
  });

  test("downwards, rows without the value come first, as in the database of real servers", async () => {
    const { ask } = await openDemo();
    const rows = async (sort: string) =>
      (await ask(`GET ${MNIST}/experiments?group=1&limit=100&sort=${sort}`)).json.results.map(
        (row: { last_metric: { loss?: number } | null }) => row.last_metric?.loss ?? null,
      );
    const upwards = await rows("metric.loss");
    expect(upwards.at(-1)).toBeNull();
    expect((await rows("-metric.loss"))[0]).toBeNull();
  });

  test("experiment lists and metrics come compressed without having been asked for it", async () => {
    const { demo } = await openDemo();
    const encoding = async (path: string) => {
      const response = await fetch(`${demo.url}/api/v1/${path}`, {
        headers: { authorization: `token ${demo.users[0]?.token}`, "accept-encoding": "identity" },
      });
      await response.json();
      return response.headers.get("content-encoding");
    };
    expect(await encoding(`${MNIST}/experiments`)).toBe("gzip");
    expect(await encoding(`${MNIST}/experiments/42/metrics`)).toBe("gzip");
    expect(await encoding(`${MNIST}/jobs`)).toBeNull();
  });

  test("an owner's projects, a group's metrics and the log of one job can be read", async () => {
    const { as } = await openDemo();
    const [ada, grace] = [as("ada"), as("grace")];
    expect(idsIn(await ada("GET ada"))).toEqual([2, 1]);
    expect(idsIn(await grace("GET ada"))).toEqual([1]);
    expect((await ada("GET nobody")).json).toEqual({ count: 0, next: null, previous: null, results: [] });
    const { json } = await ada(`GET ${MNIST}/groups/1/metrics`);
    expect(json.count).toBeGreaterThan(500);
    expect(new Set(json.results.map((record: { experiment: number }) => record.experiment)).size).toBe(23);
    const times = json.results.map((record: { created_at: string }) => record.created_at);
    expect(times).toEqual(times.toSorted());
    expect((await ada(`GET ${MNIST}/experiments/42/jobs/23/logs`)).text).toContain(
      "worker on node-1: epoch 1",
    );
    expect((await ada(`GET ${MNIST}/experiments/42/outputs/download`)).type).toBe("application/octet-stream");
    expect((await ada("POST superusers/revoke/grace/")).status).toBe(200);
  });

  test("a service without lists answers them like any unknown path", async () => {
    const { ask } = await openDemo({ lists: false });
    for (const path of [
      "ada",
      `${MNIST}/experiments`,
      `${MNIST}/groups/1/metrics`,
      `${MNIST}/jobs/1/outputs/download`,
    ]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, type: "text/html; charset=utf-8" });
    }
    expect(await ask("POST superusers/revoke/grace/")).toMatchObject({
      status: 405,
      type: "application/json",
    });
  });
});
