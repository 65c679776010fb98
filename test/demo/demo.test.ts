import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { describe, expect, test } from "vitest";
import type { DemoOptions } from "../../src/demo/service.ts";
import { contractRows } from "../support/contract.ts";
import { startDemoService } from "../support/demo-gateway.ts";

const noon = Date.UTC(2026, 5, 1, 12);

/** A service whose clock stands at noon until `wait` moves it on. */
async function open(options: Omit<DemoOptions, "now"> = {}) {
  let time = noon;
  const demo = await startDemoService({ ...options, now: () => time });
  const tokens = new Map(demo.users.map(({ username, token }) => [username, token]));

  /** Sends a request as somebody (null: without a token) and gives the answer with its body decoded. */
  async function ask(line: string, body?: unknown, who: string | null = "ada") {
    const [method = "GET", path = ""] = line.split(" ");
    const headers = new Headers();
    if (who !== null) headers.set("authorization", `token ${tokens.get(who) ?? who}`);
    if (body !== undefined) headers.set("content-type", "application/json");
    const response = await fetch(`${demo.url}/api/v1/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const type = response.headers.get("content-type");
    return {
      status: response.status,
      type,
      text,
      json: type === "application/json" ? JSON.parse(text) : null,
    };
  }

  return {
    demo,
    ask,
    as: (who: string | null) => (line: string, body?: unknown) => ask(line, body, who),
    wait: (seconds: number) => {
      time += seconds * 1_000;
    },
  };
}

const M = "ada/mnist";

const tracked =
  "id uuid name unique_name user description created_at updated_at started_at finished_at last_status";
const reducedKeys = `${tracked} original project experiment_group build_job tags`;
const keysOf = {
  experiment: `${reducedKeys} config declarations resources last_metric num_jobs is_clone has_tensorboard bookmarked`,
  reduced: reducedKeys,
  job: `${tracked} tags project build_job is_clone original config resources node_scheduled bookmarked`,
  build: `${tracked} tags project config resources node_scheduled num_jobs num_experiments dockerfile commit bookmarked`,
  group: `${tracked} project tags concurrency search_algorithm current_iteration content hptuning has_tensorboard
    num_experiments num_pending_experiments num_running_experiments num_scheduled_experiments
    num_succeeded_experiments num_failed_experiments num_stopped_experiments bookmarked`,
  experimentJob: `id uuid unique_name role experiment last_status created_at updated_at started_at finished_at resources
    node_scheduled`,
  experimentStatus: "id uuid created_at message status experiment",
  jobStatus: "id uuid created_at message status details job",
  groupStatus: "id uuid created_at message status experiment_group",
  metric: "id created_at values experiment",
  cluster: "uuid version_api created_at updated_at nodes",
  node: `uuid sequence name hostname role memory cpu n_gpus gpus docker_version kubelet_version os_image kernel_version
    schedulable_taints schedulable_state status is_current`,
  user: "username email is_superuser",
  token: "token",
};

/** Says what an answer holds: nothing, text, bytes, the record whose keys it has, or a page of such records. */
function contentOf({ type, text, json }: { type: string | null; text: string; json: unknown }): string {
  if (text === "") return "nothing";
  if (type === "text/html; charset=utf-8") return "text";
  if (type === "application/octet-stream") return "bytes";
  // What the service sends as JSON to these rows are objects.
  const record = json as object;
  if (!("results" in record)) return recordOf(record);
  const last = (record.results as object[]).at(-1) ?? {};
  return `${Object.keys(record).join(" ") === "count next previous results" ? "page of " : ""}${recordOf(last)}`;
}

const sorted = (keys: readonly string[]) => keys.toSorted().join(" ");

function recordOf(record: object): string {
  const found = Object.entries(keysOf).find(
    ([, keys]) => sorted(keys.split(/\s+/)) === sorted(Object.keys(record)),
  );
  return found?.[0] ?? sorted(Object.keys(record));
}

/** Addresses that exist, for the paths of the document. */
const EXAMPLES: readonly (readonly [path: RegExp, example: string])[] = [
  [/\{experiment_id\}\/jobs\/\{id\}/, "42/jobs/22"],
  [/experiments\/\{\w+\}/, "experiments/42"],
  [/(jobs|builds|groups)\/\{\w+\}/, "$1/1"],
  [/\{u\}\/\{p\}/, M],
  [/\{sequence\}/, "3"],
  [/\{username\}/, "grace"],
];

/** Where another record shall be asked, as in stopping one that runs. */
const OTHERS: Readonly<Record<string, string>> = {
  stopExperiment: `${M}/experiments/43/stop`,
  stopJob: `${M}/jobs/2/stop`,
  stopBuildJob: `${M}/builds/5/stop`,
  stopGroup: `${M}/groups/2/stop`,
  activateUser: "users/activate/margaret/",
  deleteUser: "users/delete/linus/",
};

const BODIES: Readonly<Record<string, unknown>> = {
  login: { username: "ada", password: "ada-demo" },
  updateExperiment: { description: "new" },
  updateJob: { description: null },
  updateBuildJob: { description: "x" },
  updateGroup: { description: "x" },
  createExperimentMetric: { values: { loss: 0.1 } },
};

describe("the rows of the document", () => {
  test.each(contractRows)("$row answers as the document says", async (row) => {
    const { ask } = await open({ lists: false });
    const path =
      OTHERS[row.mutation ?? ""] ??
      EXAMPLES.reduce((filled, [pattern, example]) => filled.replace(pattern, example), row.path);
    const answer = await ask(`${row.method} ${path}`, BODIES[row.mutation ?? ""]);
    expect([answer.status, contentOf(answer)]).toEqual([row.status, row.content]);
  });

  test("a trailing slash makes no difference, with or without one in the document", async () => {
    const { ask } = await open();
    for (const path of [`${M}/jobs/1`, `${M}/experiments/42/statuses`, "users", "nodes/1", "cluster"]) {
      const [bare, slashed] = [await ask(`GET ${path}`), await ask(`GET ${path}/`)];
      expect([bare.status, bare.text]).toEqual([200, slashed.text]);
    }
  });

  test("an unknown path is a page for GET and nothing for the rest; a wrong method is told as JSON", async () => {
    const { ask } = await open();
    for (const path of [
      `${M}/experiments/abc/`,
      `${M}/experiments//1/`,
      `${M}/jobs/1/nonsense`,
      "a.b/c/jobs/1/",
    ]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, type: "text/html; charset=utf-8" });
      expect(await ask(`POST ${path}`)).toMatchObject({
        status: 405,
        type: "text/html; charset=utf-8",
        text: "",
      });
    }
    const wrong = await ask(`GET ${M}/experiments/1/stop`);
    expect(wrong).toMatchObject({ status: 405, json: { detail: 'Method "GET" not allowed.' } });
  });

  test("a record that is missing, or stands in another project, is not found", async () => {
    const { ask } = await open();
    for (const path of [
      `${M}/experiments/8/`,
      `${M}/jobs/999/`,
      "ada/nonsense/jobs/1/",
      "nobody/mnist/jobs/1/",
      `${M}/experiments/42/jobs/1/`,
      "nodes/4",
      "nodes/abc",
    ]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, json: { detail: "Not found." } });
    }
  });
});

describe("signing in", () => {
  test("a password gives the token; faults are named as the service names them", async () => {
    const { demo, as } = await open();
    const ask = as(null);
    const right = await ask("POST users/token/", { username: "grace", password: "grace-demo" });
    expect(right.json).toEqual({ token: demo.users[1]?.token });
    expect(demo.users[1]?.token).toMatch(/^[0-9a-f]{40}$/);
    const refused = { non_field_errors: ["Unable to log in with provided credentials."] };
    for (const [body, fault] of [
      [{ username: "grace", password: "wrong" }, refused],
      [{ username: "nobody", password: "wrong" }, refused],
      [{ username: "margaret", password: "margaret-demo" }, refused],
      [{}, { username: ["This field is required."], password: ["This field is required."] }],
      [
        { username: null, password: "" },
        { username: ["This field may not be null."], password: ["This field may not be blank."] },
      ],
      [["grace"], { non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }],
    ]) {
      expect(await ask("POST users/token/", body)).toMatchObject({ status: 400, json: fault });
    }
    expect((await ask("POST users/token/", "{")).json.detail).toMatch(/^JSON parse error - /);
    expect(
      (await as("nonsense")("POST users/token/", { username: "grace", password: "grace-demo" })).status,
    ).toBe(403);
  });

  test("a missing, unknown or malformed token is refused, and nobody is told who they are", async () => {
    const { demo } = await open();
    const get = async (path: string, authorization?: string) => {
      const response = await fetch(
        `${demo.url}/api/v1/${path}`,
        authorization ? { headers: { authorization } } : {},
      );
      return [response.status, await response.json()];
    };
    const token = demo.users[0]?.token;
    const nobody = [200, { username: "", is_superuser: false }];
    const unnamed = [403, { detail: "Authentication credentials were not provided." }];
    expect(await get("users/")).toEqual(nobody);
    expect(await get("users/", `Bearer ${token}`)).toEqual(nobody);
    expect(await get("users/", `TOKEN ${token}`)).toMatchObject([
      200,
      { username: "ada", is_superuser: true },
    ]);
    expect(await get(`${M}/jobs/1/`)).toEqual(unnamed);
    expect(await get("cluster/", `Bearer ${token}`)).toEqual(unnamed);
    expect(await get(`${M}/jobs/1/`, "token 0000")).toEqual([403, { detail: "Invalid token." }]);
    expect(await get(`${M}/jobs/1/`, "token")).toMatchObject([403, { detail: /No credentials provided/ }]);
    expect(await get(`${M}/jobs/1/`, "token a b")).toMatchObject([
      403,
      { detail: /should not contain spaces/ },
    ]);
    expect(await get("users/", `token ${demo.users[3]?.token}`)).toEqual([
      403,
      { detail: "User inactive or deleted." },
    ]);
  });

  test("private projects are closed to others, public ones can be read and not changed", async () => {
    const { as } = await open();
    const [ada, grace] = [as("ada"), as("grace")];
    const forbidden = { status: 403, json: { detail: "You do not have permission to perform this action." } };
    expect(await grace("GET ada/speech/experiments/6/")).toMatchObject(forbidden);
    expect(await grace("GET ada/speech/experiments")).toMatchObject(forbidden);
    expect(await grace("GET ada/speech/jobs/999/logs")).toMatchObject(forbidden);
    expect(await grace(`GET ${M}/experiments/42/`)).toMatchObject({ status: 200 });
    expect(await grace(`PATCH ${M}/experiments/42/`, { description: "x" })).toMatchObject(forbidden);
    expect(await grace(`DELETE ${M}/experiments/42/`)).toMatchObject(forbidden);
    expect(await grace(`POST ${M}/experiments/42/bookmark/`)).toMatchObject(forbidden);
    expect(await grace("GET cluster/")).toMatchObject({ status: 200 });
    expect(await grace("GET nodes/1")).toMatchObject({ status: 200 });
    expect(await grace("POST users/activate/margaret/")).toMatchObject(forbidden);
    expect(await grace("DELETE users/delete/linus/")).toMatchObject(forbidden);
    expect(await ada("PATCH grace/vision/experiments/8/", { description: "x" })).toMatchObject({
      status: 200,
    });
  });

  test("users are activated, raised, lowered and deleted with everything that was theirs", async () => {
    const { as } = await open();
    const [ada, grace, margaret] = [as("ada"), as("grace"), as("margaret")];
    await ada("POST users/activate/margaret/");
    expect((await margaret("GET users/")).json).toEqual({
      username: "margaret",
      email: "margaret@example.com",
      is_superuser: false,
    });
    await ada("POST superusers/grant/grace/");
    expect((await grace("GET users/")).json.is_superuser).toBe(true);
    expect((await grace("GET ada/speech/experiments/6/")).status).toBe(200);
    await ada("DELETE superusers/revoke/grace/");
    expect((await grace("GET users/")).json.is_superuser).toBe(false);
    expect((await ada("DELETE users/delete/grace/")).status).toBe(204);
    expect((await ada("DELETE users/delete/grace/")).status).toBe(404);
    expect((await grace("GET users/")).json).toEqual({ detail: "Invalid token." });
    expect((await ada("GET grace/vision/experiments/8/")).status).toBe(404);
    // A job that linus made in a project of ada goes with him.
    await ada("DELETE users/delete/linus/");
    expect((await ada(`GET ${M}/jobs/4/`)).status).toBe(404);
    expect((await ada("POST superusers/grant/nobody/")).status).toBe(404);
  });
});

describe("time", () => {
  test("a restarted experiment goes its way by the clock and records metrics while it runs", async () => {
    const { ask, wait } = await open();
    const { status, json } = await ask(`POST ${M}/experiments/42/restart/`, { description: "again" });
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
    const look = async () => (await ask(`GET ${M}/experiments/61/`)).json;
    expect(await look()).toMatchObject({ is_clone: true, num_jobs: 0, last_metric: {} });
    expect((await ask(`GET ${M}/experiments/61/logs/`)).json).toBe("Log file not found");
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
    const early = await ask(`GET ${M}/experiments/61/metrics`);
    expect(early.json.count).toBe(4);
    expect(running.last_metric).toEqual(early.json.results[3].values);
    const log = (await ask(`GET ${M}/experiments/61/logs/`)).text;
    wait(3_600);
    expect(await look()).toMatchObject({
      last_status: "succeeded",
      finished_at: expect.stringContaining("12:00:40."),
    });
    const late = await ask(`GET ${M}/experiments/61/metrics`);
    expect(late.json.count).toBe(13);
    expect(late.json.results.slice(0, 4)).toEqual(early.json.results);
    const whole = (await ask(`GET ${M}/experiments/61/logs/`)).text;
    expect(whole.startsWith(log)).toBe(true);
    expect(whole).toMatch(/ada\.mnist\.61 succeeded\n$/);
    const { results } = (await ask(`GET ${M}/experiments/61/statuses`)).json;
    expect(results.map((record: { status: string }) => record.status)).toEqual([
      "created",
      "scheduled",
      "starting",
      "running",
      "succeeded",
    ]);
  });

  test("the job of an experiment moves with it", async () => {
    const { ask, wait } = await open();
    await ask(`POST ${M}/experiments/1/copy`);
    wait(15);
    const [job] = (await ask(`GET ${M}/experiments/61/jobs`)).json.results;
    expect(job).toMatchObject({
      unique_name: `ada.mnist.61.${job.id}.master`,
      role: "master",
      experiment: 61,
      last_status: "running",
      node_scheduled: "node-1",
    });
    const { results } = (await ask(`GET ${M}/experiments/61/jobs/${job.id}/statuses/`)).json;
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
      const { ask, wait } = await open();
      expect(await ask(`POST ${M}/${path}/stop`)).toMatchObject({ status: 200, text: "" });
      expect((await ask(`GET ${M}/${path}/`)).json).toMatchObject({
        last_status: "stopping",
        finished_at: null,
      });
      await ask(`POST ${M}/${path}/stop`);
      wait(2);
      const { json } = await ask(`GET ${M}/${path}/`);
      expect(json).toMatchObject({ last_status: "stopped", finished_at: json.updated_at });
      wait(36_000);
      expect((await ask(`GET ${M}/${path}/`)).json).toEqual(json);
    },
  );

  test("a group ends when its experiments have ended, and stopping it stops those that have not", async () => {
    const { ask, wait } = await open();
    const counts = async (id: number) => {
      const { json } = await ask(`GET ${M}/groups/${id}/`);
      return [
        json.last_status,
        json.num_running_experiments,
        json.num_succeeded_experiments,
        json.num_stopped_experiments,
      ];
    };
    expect(await counts(2)).toEqual(["running", 5, 3, 0]);
    await ask(`POST ${M}/groups/1/stop`);
    expect(await counts(1)).toEqual(["stopping", 4, 15, 2]);
    wait(2);
    expect(await counts(1)).toEqual(["stopped", 0, 15, 6]);
    wait(7_200);
    expect(await counts(2)).toEqual(["succeeded", 0, 12, 0]);
  });

  test("the log of a running run only grows", async () => {
    const { ask, wait } = await open();
    for (const path of [`${M}/experiments/43/logs/`, `${M}/jobs/2/logs`, `${M}/builds/5/logs`]) {
      const before = await ask(`GET ${path}`);
      wait(60);
      const after = await ask(`GET ${path}`);
      expect(before.text.split("\n").length).toBeGreaterThan(50);
      expect(after.text.length).toBeGreaterThan(before.text.length);
      expect(after.text.startsWith(before.text)).toBe(true);
    }
  });

  test("what is told about a run does not depend on how often somebody asked", async () => {
    const [first, second] = [await open(), await open()];
    for (let minute = 0; minute < 30; minute += 1) {
      first.wait(60);
      await first.ask(`GET ${M}/groups/2/`);
    }
    second.wait(1_800);
    for (const path of [`${M}/groups/2/`, `${M}/experiments/50/`, `${M}/experiments/50/metrics?limit=1`]) {
      const [watched, unwatched] = [await first.ask(`GET ${path}`), await second.ask(`GET ${path}`)];
      expect(watched.text.replaceAll(first.demo.url, "")).toBe(
        unwatched.text.replaceAll(second.demo.url, ""),
      );
    }
  });
});

describe("commands", () => {
  test("a description is changed, emptied and refused", async () => {
    const { ask, wait } = await open();
    for (const path of ["experiments/42/", "jobs/1/", "builds/1/", "groups/1/"]) {
      const before = (await ask(`GET ${M}/${path}`)).json;
      wait(10);
      const changed = await ask(`PATCH ${M}/${path}`, { description: "grün ☃", id: 9, unknown: true });
      expect(changed.json).toEqual({ ...before, description: "grün ☃", updated_at: changed.json.updated_at });
      expect(changed.json.updated_at > before.updated_at).toBe(true);
      expect((await ask(`GET ${M}/${path}`)).json).toEqual(changed.json);
      expect((await ask(`PATCH ${M}/${path}`, { description: null })).json.description).toBeNull();
      expect((await ask(`PATCH ${M}/${path}`, { description: 5 })).json.description).toBe("5");
      expect((await ask(`PATCH ${M}/${path}`, {})).json.description).toBe("5");
      for (const [body, fault] of [
        [{ description: { a: 1 } }, { description: ["Not a valid string."] }],
        [["x"], { non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }],
        ['"x"', { non_field_errors: ["Invalid data. Expected a dictionary, but got str."] }],
      ]) {
        expect(await ask(`PATCH ${M}/${path}`, body)).toMatchObject({ status: 400, json: fault });
      }
      expect((await ask(`PATCH ${M}/${path}`, '{"description":')).json.detail).toMatch(
        /^JSON parse error - /,
      );
    }
  });

  test("a body that is not JSON or too long is refused, and the service goes on", async () => {
    const { demo, ask } = await open();
    const post = (body: string, type: string) =>
      fetch(`${demo.url}/api/v1/users/token/`, { method: "POST", headers: { "content-type": type }, body });
    expect((await post("grace", "text/plain")).status).toBe(415);
    expect((await post(`"${"x".repeat(1_048_576)}"`, "application/json")).status).toBe(413);
    expect((await ask("GET users/")).status).toBe(200);
  });

  test("what is deleted is gone, and what pointed at it points nowhere", async () => {
    const { ask } = await open();
    const gone = async (path: string) => {
      expect(await ask(`DELETE ${M}/${path}`)).toMatchObject({ status: 204, text: "" });
      expect((await ask(`DELETE ${M}/${path}`)).status).toBe(404);
      expect((await ask(`GET ${M}/${path}`)).status).toBe(404);
    };
    expect((await ask(`GET ${M}/experiments/42/`)).json).toMatchObject({
      build_job: "ada.mnist.builds.2",
      original: "ada.mnist.37",
      is_clone: true,
    });
    await gone("builds/2/");
    await gone("experiments/37/");
    expect((await ask(`GET ${M}/experiments/42/`)).json).toMatchObject({
      build_job: null,
      original: null,
      is_clone: false,
    });
    await gone("jobs/1/");
    expect((await ask(`GET ${M}/jobs/5/`)).json).toMatchObject({ original: null, is_clone: false });
    await gone("groups/1/");
    for (const id of [9, 28, 43, 46]) expect((await ask(`GET ${M}/experiments/${id}/`)).status).toBe(404);
    expect((await ask(`GET ${M}/experiments/47/`)).status).toBe(200);
  });

  test("the id of a deleted run is not given to the next one", async () => {
    const { ask } = await open();
    const first = await ask(`POST ${M}/jobs/1/copy`);
    await ask(`DELETE ${M}/jobs/${first.json.id}/`);
    const second = await ask(`POST ${M}/jobs/1/resume`);
    expect([first.json.id, second.json.id]).toEqual([9, 10]);
    expect(second.json).toMatchObject({
      unique_name: "ada.mnist.jobs.10",
      original: "ada.mnist.jobs.1",
      is_clone: true,
      name: null,
      build_job: null,
      last_status: "created",
      node_scheduled: null,
    });
  });

  test("a resumed member of a group stays in it, a copied one leaves it", async () => {
    const { ask } = await open();
    expect((await ask(`POST ${M}/experiments/9/resume/`)).json).toMatchObject({
      unique_name: "ada.mnist.1.61",
      experiment_group: "ada.mnist.1",
      original: "ada.mnist.1.9",
    });
    expect((await ask(`POST ${M}/experiments/9/copy`)).json).toMatchObject({
      unique_name: "ada.mnist.62",
      experiment_group: null,
      original: "ada.mnist.1.9",
    });
    expect((await ask(`GET ${M}/groups/1/`)).json.num_experiments).toBe(25);
  });

  test("bookmarks belong to one user", async () => {
    const { as } = await open();
    const [ada, grace] = [as("ada"), as("grace")];
    await ada("POST grace/vision/experiments/8/bookmark/");
    await ada("POST grace/vision/experiments/8/bookmark/");
    expect((await ada("GET grace/vision/experiments/8/")).json.bookmarked).toBe(true);
    expect((await grace("GET grace/vision/experiments/8/")).json.bookmarked).toBe(false);
    await ada("DELETE grace/vision/experiments/8/unbookmark/");
    expect((await ada("GET grace/vision/experiments/8/")).json.bookmarked).toBe(false);
  });

  test("a tensorboard is started and stopped", async () => {
    const { ask } = await open();
    for (const path of [`${M}/experiments/42`, `${M}/groups/2`]) {
      const flag = async () => (await ask(`GET ${path}/`)).json.has_tensorboard;
      expect(await flag()).toBeNull();
      await ask(`POST ${path}/tensorboard/start`);
      expect(await flag()).toBe(true);
      await ask(`POST ${path}/tensorboard/stop`);
      expect(await flag()).toBe(false);
    }
  });

  test("metrics are appended and become the last ones", async () => {
    const { ask } = await open();
    const before = (await ask(`GET ${M}/experiments/42/metrics`)).json;
    const { json } = await ask(`POST ${M}/experiments/42/metrics`, { values: { review: 4.5 } });
    const after = (await ask(`GET ${M}/experiments/42/metrics`)).json;
    expect(after.results).toEqual([...before.results, json]);
    expect(json.id).toBeGreaterThan(before.results.at(-1).id);
    expect((await ask(`GET ${M}/experiments/42/`)).json.last_metric).toEqual({ review: 4.5 });
    for (const [body, fault] of [
      [{}, "This field is required."],
      [{ values: null }, "This field may not be null."],
      [{ values: [1] }, 'Expected a dictionary of items but got type "list".'],
    ]) {
      expect(await ask(`POST ${M}/experiments/42/metrics`, body)).toMatchObject({
        status: 400,
        json: { values: [fault] },
      });
    }
  });
});

describe("what is stored", () => {
  test("experiment 42 is rich: cloned from a clone, built, and run by four jobs on three machines", async () => {
    const { ask } = await open();
    const { json } = await ask(`GET ${M}/experiments/42/`);
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
    expect((await ask(`GET ${M}/experiments/37/`)).json.original).toBe("ada.mnist.4");
    const jobs = (await ask(`GET ${M}/experiments/42/jobs`)).json.results;
    expect(
      jobs.map((job: { role: string; node_scheduled: string }) => [job.role, job.node_scheduled]),
    ).toEqual([
      ["worker", "gpu-node.eu-1"],
      ["worker", "node-2"],
      ["worker", "node-1"],
      ["master", "gpu-node.eu-1"],
    ]);
    const log = (await ask(`GET ${M}/experiments/42/logs/`)).text;
    expect(log).toContain("学習は順調です 🚀");
    expect(log.split("\n").length).toBeGreaterThan(300);
  });

  test("group 1 has 24 experiments in every state, with curves of 20 to 60 records", async () => {
    const { ask } = await open();
    expect((await ask(`GET ${M}/groups/1/`)).json).toMatchObject({
      num_experiments: 24,
      num_pending_experiments: 1,
      num_running_experiments: 3,
      num_succeeded_experiments: 15,
      num_failed_experiments: 3,
      num_stopped_experiments: 2,
    });
    for (const id of [9, 12, 17, 28]) {
      const { json } = await ask(`GET ${M}/experiments/${id}/metrics`);
      expect(json.count).toBeGreaterThanOrEqual(20);
      expect(json.count).toBeLessThanOrEqual(60);
    }
    const failed = (await ask(`GET ${M}/experiments/12/statuses`)).json.results.at(-1);
    expect(failed).toMatchObject({ status: "failed", message: expect.stringContaining("out of memory") });
    expect((await ask(`GET ${M}/experiments/46/`)).json.last_status).toBe("unschedulable");
  });

  test("one job names a machine that is no longer in the cluster", async () => {
    const { ask } = await open();
    const { node_scheduled: name } = (await ask(`GET ${M}/jobs/4/`)).json;
    const { nodes } = (await ask("GET cluster/")).json;
    expect(name).toBe("node-9");
    expect(nodes.map((node: { name: string }) => node.name)).toEqual(["node-2", "gpu-node.eu-1", "node-1"]);
    expect(nodes[0].memory).toBeGreaterThan(2 ** 32);
    expect((await ask("GET nodes/3")).json.gpus).toHaveLength(2);
  });

  test("the first status of a job or build has no details, the others have none to tell", async () => {
    const { ask } = await open();
    for (const path of ["jobs/1", "builds/1"]) {
      const [first, second] = (await ask(`GET ${M}/${path}/statuses`)).json.results;
      expect(first).not.toHaveProperty("details");
      expect(second).toMatchObject({ details: null, job: 1 });
    }
  });

  test("a run that never ran has no log", async () => {
    const { ask } = await open();
    for (const path of [`${M}/experiments/46/logs/`, `${M}/jobs/6/logs`]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, json: "Log file not found" });
    }
  });

  test("outputs are an archive of small files", async () => {
    const { demo } = await open();
    const response = await fetch(`${demo.url}/api/v1/${M}/experiments/42/outputs`, {
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
    ]);
    expect(files.get("ada_mnist_42/metrics.csv")?.split("\n")[0]).toBe("created_at,loss,accuracy");
  });

  test("ids, names and tokens are the same in every service", async () => {
    const [first, second] = [await open(), await open()];
    expect(first.demo.users).toEqual(second.demo.users);
    for (const path of [`${M}/experiments/42/`, `${M}/groups/2/`, `${M}/experiments/50/statuses`]) {
      expect((await first.ask(`GET ${path}`)).text).toBe((await second.ask(`GET ${path}`)).text);
    }
  });
});

const ids = (answer: { json: { results: { id: number }[] } }) => answer.json.results.map(({ id }) => id);

describe("lists", () => {
  test("pages are linked by addresses made from the Host header", async () => {
    const { demo, ask } = await open();
    const { json } = await ask(`GET ${M}/experiments?sort=created_at&offset=2&limit=3`);
    expect(json.count).toBe(46);
    expect(json.next).toBe(`${demo.url}/api/v1/${M}/experiments?limit=3&offset=5&sort=created_at`);
    expect(json.previous).toBe(`${demo.url}/api/v1/${M}/experiments?limit=3&sort=created_at`);
    const seen: number[] = [];
    for (let link: string | null = `${M}/experiments?limit=20&sort=created_at`; link;) {
      const answer = await ask(`GET ${link}`);
      seen.push(...ids(answer));
      link = answer.json.next && answer.json.next.replace(`${demo.url}/api/v1/`, "");
    }
    expect(seen).toHaveLength(46);
    expect(new Set(seen).size).toBe(46);
    expect(ids(await ask(`GET ${M}/experiments?limit=nonsense&offset=-1`))).toHaveLength(20);
  });

  test("rows lack what the full record has, exactly as release 0.4.4", async () => {
    const { ask } = await open();
    const missing = async (list: string, detail: string) => {
      const row = (await ask(`GET ${M}/${list}`)).json.results[0];
      const record = (await ask(`GET ${M}/${detail}/${row.id}/`)).json;
      const absent = Object.keys(record).filter((key) => !(key in row));
      expect(record).toMatchObject(row);
      return absent.toSorted().join(" ");
    };
    expect(await missing("experiments", "experiments")).toBe(
      "config has_tensorboard is_clone num_jobs resources",
    );
    expect(await missing("jobs", "jobs")).toBe("config is_clone node_scheduled resources");
    expect(await missing("builds", "builds")).toBe(
      "commit config dockerfile node_scheduled num_experiments num_jobs resources",
    );
    expect(await missing("groups", "groups")).toBe(
      "content current_iteration hptuning num_experiments num_failed_experiments num_pending_experiments " +
        "num_running_experiments num_scheduled_experiments num_stopped_experiments num_succeeded_experiments",
    );
  });

  test("queries filter", async () => {
    const { ask } = await open();
    const list = (query: string, kind = "experiments") =>
      ask(`GET ${M}/${kind}?limit=100&sort=created_at&${query}`);
    expect(ids(await list("query=id:3|1|42|999"))).toEqual([1, 3, 42]);
    expect(ids(await list("query=id:1|99", "builds"))).toEqual([1]);
    expect(ids(await list("query=id:2|5", "jobs"))).toEqual([5, 2]);
    expect(ids(await list("query=id:2", "groups"))).toEqual([2]);
    expect(ids(await list("query=status:failed|upstream_failed"))).toEqual([3, 12, 20, 27, 41]);
    expect(ids(await list("query=status:~succeeded,build:1"))).toEqual([5, 12, 17]);
    expect(ids(await list("query=build:3"))).toEqual([41]);
    expect(ids(await list("query=tags:candidate"))).toEqual([42]);
    expect(ids(await list("query=group:~1,group:~2,declarations.lr:0.02"))).toEqual([2, 3, 39, 40, 41]);
    expect(ids(await list("group=1"))).toHaveLength(24);
    expect(ids(await list("independent=true"))).toEqual([1, 2, 3, 4, 5, 37, 39, 40, 41, 42]);
    for (const { last_metric: last } of (await list("query=metric.loss:<0.2")).json.results) {
      expect(last.loss).toBeLessThan(0.2);
    }
    expect(await list("group=999")).toMatchObject({ status: 404, json: { detail: "Not found." } });
  });

  test("a query that cannot be read is refused with a bare list", async () => {
    const { ask } = await open();
    for (const [path, fault] of [
      ["experiments?query=nonsense:1", "key `nonsense` is not supported by query manager `experiment`."],
      ["groups?query=build:1", "key `build` is not supported by query manager `experiment_group`."],
      [
        "jobs?query=status",
        "Expression is not valid, it must be formatted as name:operation, Expression: status",
      ],
      ["experiments?query=metric.loss:abc", "Scalar operation requires int or float params, receive abc."],
    ]) {
      expect(await ask(`GET ${M}/${path}`)).toMatchObject({ status: 400, json: [fault] });
    }
  });

  test("lists are ordered by the newest change unless they are told otherwise", async () => {
    const { ask } = await open();
    await ask(`PATCH ${M}/experiments/3/`, { description: "touched" });
    expect(ids(await ask(`GET ${M}/experiments?limit=1`))).toEqual([3]);
    expect(ids(await ask(`GET ${M}/experiments?limit=3&sort=created_at`))).toEqual([1, 2, 3]);
    const losses = (await ask(`GET ${M}/experiments?limit=30&sort=metric.loss`)).json.results.map(
      (row: { last_metric: { loss: number } }) => row.last_metric.loss,
    );
    expect(losses).toEqual(losses.toSorted((a: number, b: number) => a - b));
    expect(ids(await ask(`GET ${M}/jobs?limit=1&sort=-finished_at`))).toEqual([2]);
  });

  test("experiment lists and metrics come compressed without having been asked for it", async () => {
    const { demo } = await open();
    const encoding = async (path: string) => {
      const response = await fetch(`${demo.url}/api/v1/${path}`, {
        headers: { authorization: `token ${demo.users[0]?.token}`, "accept-encoding": "identity" },
      });
      await response.json();
      return response.headers.get("content-encoding");
    };
    expect(await encoding(`${M}/experiments`)).toBe("gzip");
    expect(await encoding(`${M}/experiments/42/metrics`)).toBe("gzip");
    expect(await encoding(`${M}/jobs`)).toBeNull();
  });

  test("an owner's projects, a group's metrics and the log of one job can be read", async () => {
    const { as } = await open();
    const [ada, grace] = [as("ada"), as("grace")];
    expect(ids(await ada("GET ada"))).toEqual([2, 1]);
    expect(ids(await grace("GET ada"))).toEqual([1]);
    expect((await ada("GET nobody")).json).toEqual({ count: 0, next: null, previous: null, results: [] });
    const { json } = await ada(`GET ${M}/groups/1/metrics`);
    expect(json.count).toBeGreaterThan(500);
    expect(new Set(json.results.map((record: { experiment: number }) => record.experiment)).size).toBe(23);
    const times = json.results.map((record: { created_at: string }) => record.created_at);
    expect(times).toEqual(times.toSorted());
    expect((await ada(`GET ${M}/experiments/42/jobs/23/logs`)).text).toContain("worker on node-1: epoch 1");
    expect((await ada(`GET ${M}/experiments/42/outputs/download`)).type).toBe("application/octet-stream");
    expect((await ada("POST superusers/revoke/grace/")).status).toBe(200);
  });

  test("a service without lists answers them like any unknown path", async () => {
    const { ask } = await open({ lists: false });
    for (const path of ["ada", `${M}/experiments`, `${M}/groups/1/metrics`, `${M}/jobs/1/outputs/download`]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, type: "text/html; charset=utf-8" });
    }
    expect(await ask("POST superusers/revoke/grace/")).toMatchObject({
      status: 405,
      type: "application/json",
    });
  });
});

test("the service tells what it was asked, in the order of arrival", async () => {
  const { demo, ask } = await open();
  await ask(`GET ${M}/experiments?limit=1`);
  await ask(`POST ${M}/jobs/2/stop`);
  expect(demo.calls()).toEqual([`GET /api/v1/${M}/experiments?limit=1`, `POST /api/v1/${M}/jobs/2/stop`]);
  demo.forget();
  expect(demo.calls()).toEqual([]);
});
