import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const RUNNING = { last_status: "running", started_at: "2026-02-01T10:00:00+01:00", finished_at: null };
const FINISHED = { ...RUNNING, last_status: "succeeded", finished_at: "2026-02-01T11:00:00+01:00" };

/** Experiments by project and number: those from 10 on have finished, 404 does not exist. `bob` refuses commands. */
const startMany = () =>
  startFake(({ method, path }) => {
    const { pathname, searchParams } = new URL(path, "http://service");
    const [, , , owner = "", project, , last = ""] = pathname.split("/");
    if (method !== "GET") return owner === "bob" ? { json: { detail: "No." }, status: 403 } : { text: "" };
    const rowOf = (id: number) => ({
      id,
      unique_name: `${owner}.${project}.${id}`,
      ...(id < 10 ? RUNNING : FINISHED),
    });
    const numbers = /^id:([\d|]+)$/
      .exec(searchParams.get("query") ?? "")?.[1]
      ?.split("|")
      .map(Number);
    const found = (numbers ?? [Number(last)]).filter((id) => id !== 404).map(rowOf);
    if (numbers) return { json: { count: found.length, next: null, previous: null, results: found } };
    return found[0] ? { json: found[0] } : { json: { detail: "Not found." }, status: 404 };
  });

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

const notFound = expect.objectContaining({ extensions: expect.objectContaining({ code: "NOT_FOUND" }) });

test("experiments of a project are stopped by one request, and each is told for itself", async () => {
  const service = await startMany();
  const { ask } = await startGateway({ upstream: service, env });
  const ids = ["2", "404", "12", "3", "2"].map((id) => `"ada.mnist.experiments.${id}"`);
  const answer = await ask<{ stopRuns: object }, object>(
    `mutation { stopRuns(ids: [${ids.join()}]) { results { isSent run { uniqueName } } } }`,
  );
  expect(answer.data?.stopRuns).toEqual({
    results: [
      { isSent: true, run: { uniqueName: "ada.mnist.2" } },
      null,
      { isSent: false, run: { uniqueName: "ada.mnist.12" } },
      { isSent: true, run: { uniqueName: "ada.mnist.3" } },
      { isSent: true, run: { uniqueName: "ada.mnist.2" } },
    ],
  });
  expect(answer.errors).toEqual([expect.objectContaining({ path: ["stopRuns", "results", 1] })]);
  expect(answer.errors).toEqual([notFound]);
  const [list, missing, stop, ...more] = service.inOrder();
  expect([list, missing, stop]).toEqual([
    expect.stringMatching(/^GET ada\/mnist\/experiments\?query=id%3A2%7C404%7C12%7C3/),
    "GET ada/mnist/experiments/404/",
    "POST ada/mnist/experiments/stop",
  ]);
  // What is told of those that were stopped is read again.
  expect(more).toEqual(["GET ada/mnist/experiments?query=id%3A2%7C3&limit=100"]);
  expect(service.seen()[2]?.body).toBe(`{"ids": [2, 3]}`);
});

test("what one project refuses does not hide what another one has done, or the command of a single run", async () => {
  const service = await startMany();
  const { ask } = await startGateway({ upstream: service, env });
  const ids = [
    "ada.mnist.experiments.2",
    "bob.words.experiments.3",
    "ada.mnist.experiments.4",
    "eve.x.jobs.5",
  ];
  const answer = await ask<{ deleteRuns: object }, object>(
    `mutation { deleteRuns(ids: ${JSON.stringify(ids)}) { results { deletedId } } }`,
  );
  expect(answer.data?.deleteRuns).toEqual({
    results: [
      { deletedId: globalId("Experiment:ada/mnist/2") },
      null,
      { deletedId: globalId("Experiment:ada/mnist/4") },
      { deletedId: globalId("Job:eve/x/5") },
    ],
  });
  expect(answer.errors).toEqual([
    expect.objectContaining({
      path: ["deleteRuns", "results", 1],
      extensions: expect.objectContaining({ code: "FORBIDDEN" }),
    }),
  ]);
  expect(service.calls().filter((call) => call.startsWith("DELETE"))).toEqual([
    "DELETE ada/mnist/experiments/delete",
    "DELETE bob/words/experiments/3/",
    "DELETE eve/x/jobs/5/",
  ]);
});
