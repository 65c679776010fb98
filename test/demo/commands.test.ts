import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "../support/demo-clock.ts";

describe("commands to the demo", () => {
  test("a description is changed, emptied and refused", async () => {
    const { ask, wait } = await openDemo();
    for (const path of ["experiments/42/", "jobs/1/", "builds/1/", "groups/1/"]) {
      const before = (await ask(`GET ${MNIST}/${path}`)).json;
      wait(10);
      const changed = await ask(`PATCH ${MNIST}/${path}`, { description: "grün ☃", id: 9, unknown: true });
      expect(changed.json).toEqual({ ...before, description: "grün ☃", updated_at: changed.json.updated_at });
      expect(changed.json.updated_at > before.updated_at).toBe(true);
      expect((await ask(`GET ${MNIST}/${path}`)).json).toEqual(changed.json);
      expect((await ask(`PATCH ${MNIST}/${path}`, { description: null })).json.description).toBeNull();
      expect((await ask(`PATCH ${MNIST}/${path}`, { description: 5 })).json.description).toBe("5");
      expect((await ask(`PATCH ${MNIST}/${path}`, {})).json.description).toBe("5");
      for (const [body, fault] of [
        [{ description: { a: 1 } }, { description: ["Not a valid string."] }],
        [["x"], { non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }],
        ['"x"', { non_field_errors: ["Invalid data. Expected a dictionary, but got str."] }],
      ]) {
        expect(await ask(`PATCH ${MNIST}/${path}`, body)).toMatchObject({ status: 400, json: fault });
      }
      expect((await ask(`PATCH ${MNIST}/${path}`, '{"description":')).json.detail).toMatch(
        /^JSON parse error - /,
      );
    }
  });

  test("a body that is not JSON or too long is refused, and the service goes on", async () => {
    const { demo, ask } = await openDemo();
    const post = (body: string, type: string) =>
      fetch(`${demo.url}/api/v1/users/token/`, { method: "POST", headers: { "content-type": type }, body });
    expect((await post("grace", "text/plain")).status).toBe(415);
    expect((await post(`"${"x".repeat(1_048_576)}"`, "application/json")).status).toBe(413);
    expect((await ask("GET users/")).status).toBe(200);
  });

  test("what is deleted is gone, and what pointed at it points nowhere", async () => {
    const { ask } = await openDemo();
    const gone = async (path: string) => {
      expect(await ask(`DELETE ${MNIST}/${path}`)).toMatchObject({ status: 204, text: "" });
      expect((await ask(`DELETE ${MNIST}/${path}`)).status).toBe(404);
      expect((await ask(`GET ${MNIST}/${path}`)).status).toBe(404);
    };
    expect((await ask(`GET ${MNIST}/experiments/42/`)).json).toMatchObject({
      build_job: "ada.mnist.builds.2",
      original: "ada.mnist.37",
      is_clone: true,
    });
    await gone("builds/2/");
    await gone("experiments/37/");
    expect((await ask(`GET ${MNIST}/experiments/42/`)).json).toMatchObject({
      build_job: null,
      original: null,
      is_clone: false,
    });
    await gone("jobs/1/");
    expect((await ask(`GET ${MNIST}/jobs/5/`)).json).toMatchObject({ original: null, is_clone: false });
    await gone("groups/1/");
    for (const id of [9, 28, 43, 46]) expect((await ask(`GET ${MNIST}/experiments/${id}/`)).status).toBe(404);
    expect((await ask(`GET ${MNIST}/experiments/47/`)).status).toBe(200);
  });

  test("the id of a deleted run is not given to the next one", async () => {
    const { ask } = await openDemo();
    const first = await ask(`POST ${MNIST}/jobs/1/copy`);
    await ask(`DELETE ${MNIST}/jobs/${first.json.id}/`);
    const second = await ask(`POST ${MNIST}/jobs/1/resume`);
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
    const { ask } = await openDemo();
    expect((await ask(`POST ${MNIST}/experiments/9/resume/`)).json).toMatchObject({
      unique_name: "ada.mnist.1.61",
      experiment_group: "ada.mnist.1",
      original: "ada.mnist.1.9",
    });
    expect((await ask(`POST ${MNIST}/experiments/9/copy`)).json).toMatchObject({
      unique_name: "ada.mnist.62",
      experiment_group: null,
      original: "ada.mnist.1.9",
    });
    expect((await ask(`GET ${MNIST}/groups/1/`)).json.num_experiments).toBe(25);
  });

  test("bookmarks belong to one user", async () => {
    const { as } = await openDemo();
    const [ada, grace] = [as("ada"), as("grace")];
    await ada("POST grace/vision/experiments/8/bookmark/");
    await ada("POST grace/vision/experiments/8/bookmark/");
    expect((await ada("GET grace/vision/experiments/8/")).json.bookmarked).toBe(true);
    expect((await grace("GET grace/vision/experiments/8/")).json.bookmarked).toBe(false);
    await ada("DELETE grace/vision/experiments/8/unbookmark/");
    expect((await ada("GET grace/vision/experiments/8/")).json.bookmarked).toBe(false);
  });

  test("a tensorboard is started and stopped", async () => {
    const { ask } = await openDemo();
    for (const path of [`${MNIST}/experiments/42`, `${MNIST}/groups/2`]) {
      const flag = async () => (await ask(`GET ${path}/`)).json.has_tensorboard;
      expect(await flag()).toBeNull();
      await ask(`POST ${path}/tensorboard/start`);
      expect(await flag()).toBe(true);
      await ask(`POST ${path}/tensorboard/stop`);
      expect(await flag()).toBe(false);
    }
  });

  test("metrics are appended and merged into the last ones", async () => {
    const { ask } = await openDemo();
    const { last_metric: last } = (await ask(`GET ${MNIST}/experiments/42/`)).json;
    expect(Object.keys(last)).toContain("loss");
    const before = (await ask(`GET ${MNIST}/experiments/42/metrics`)).json;
    const { json } = await ask(`POST ${MNIST}/experiments/42/metrics`, { values: { review: 4.5 } });
    const after = (await ask(`GET ${MNIST}/experiments/42/metrics`)).json;
    expect(after.results).toEqual([...before.results, json]);
    expect(json.id).toBeGreaterThan(before.results.at(-1).id);
    expect((await ask(`GET ${MNIST}/experiments/42/`)).json.last_metric).toEqual({
      ...last,
      review: 4.5,
    });
    for (const [body, fault] of [
      [{}, "This field is required."],
      [{ values: null }, "This field may not be null."],
      [{ values: [1] }, 'Expected a dictionary of items but got type "list".'],
    ]) {
      expect(await ask(`POST ${MNIST}/experiments/42/metrics`, body)).toMatchObject({
        status: 400,
        json: { values: [fault] },
      });
    }
  });
});
