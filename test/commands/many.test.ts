import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

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
  const ids = `["ada.mnist.2", "ada.mnist.404", "ada.mnist.12", "ada.mnist.3", "ada.mnist.2"]`;
  const answer = await ask<{ stopExperiments: object }, object>(
    `mutation { stopExperiments(ids: ${ids}, ifActive: true) { results { isSent experiment { uniqueName } } } }`,
  );
  expect(answer.data?.stopExperiments).toEqual({
    results: [
      { isSent: true, experiment: { uniqueName: "ada.mnist.2" } },
      null,
      { isSent: false, experiment: { uniqueName: "ada.mnist.12" } },
      { isSent: true, experiment: { uniqueName: "ada.mnist.3" } },
      { isSent: true, experiment: { uniqueName: "ada.mnist.2" } },
    ],
  });
  expect(answer.errors).toEqual([expect.objectContaining({ path: ["stopExperiments", "results", 1] })]);
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

test("what one project refuses does not hide what another one has done", async () => {
  const service = await startMany();
  const { ask } = await startGateway({ upstream: service, env });
  const answer = await ask<{ deleteExperiments: object }, object>(
    `mutation { deleteExperiments(ids: ["ada.mnist.2", "bob.words.3"]) { deletedIds } }`,
  );
  expect(answer.data?.deleteExperiments).toEqual({ deletedIds: ["RXhwZXJpbWVudDphZGEvbW5pc3QvMg", null] });
  expect(answer.errors).toEqual([
    expect.objectContaining({
      path: ["deleteExperiments", "deletedIds", 1],
      extensions: expect.objectContaining({ code: "FORBIDDEN" }),
    }),
  ]);
  expect(service.calls().filter((call) => call.startsWith("DELETE"))).toEqual([
    "DELETE ada/mnist/experiments/delete",
    "DELETE bob/words/experiments/delete",
  ]);
});
