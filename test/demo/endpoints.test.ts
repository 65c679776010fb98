import { describe, expect, test } from "vitest";
import { contractRows } from "../support/contract.ts";
import { contentOf, MNIST, openDemo } from "../support/demo-clock.ts";

/** Addresses that exist, for the paths of the document. */
const EXAMPLES: readonly (readonly [path: RegExp, example: string])[] = [
  [/\{experiment_id\}\/jobs\/\{id\}/, "42/jobs/22"],
  [/experiments\/\{\w+\}/, "experiments/42"],
  [/(jobs|builds|groups)\/\{\w+\}/, "$1/1"],
  [/\{u\}\/\{p\}/, MNIST],
  [/\{sequence\}/, "3"],
  [/\{username\}/, "grace"],
];

/** Where another record shall be asked, as in stopping one that runs. */
const OTHERS: Readonly<Record<string, string>> = {
  stopExperiment: `${MNIST}/experiments/43/stop`,
  stopJob: `${MNIST}/jobs/2/stop`,
  stopBuildJob: `${MNIST}/builds/5/stop`,
  stopGroup: `${MNIST}/groups/2/stop`,
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

describe("the demo's endpoints:", () => {
  test.each(contractRows)("$row answers as the document says", async (row) => {
    const { ask } = await openDemo({ lists: false });
    const path =
      OTHERS[row.mutation ?? ""] ??
      EXAMPLES.reduce((filled, [pattern, example]) => filled.replace(pattern, example), row.path);
    const answer = await ask(`${row.method} ${path}`, BODIES[row.mutation ?? ""]);
    expect([answer.status, contentOf(answer)]).toEqual([row.status, row.content]);
  });

  test("a trailing slash makes no difference, with or without one in the document", async () => {
    const { ask } = await openDemo();
    for (const path of [
      `${MNIST}/jobs/1`,
      `${MNIST}/experiments/42/statuses`,
      "users",
      "nodes/1",
      "cluster",
    ]) {
      const [bare, slashed] = [await ask(`GET ${path}`), await ask(`GET ${path}/`)];
      expect([bare.status, bare.text]).toEqual([200, slashed.text]);
    }
  });

  test("an unknown path is a page for GET and nothing for the rest; a wrong method is told as JSON", async () => {
    const { ask } = await openDemo();
    for (const path of [
      `${MNIST}/experiments/abc/`,
      `${MNIST}/experiments//1/`,
      `${MNIST}/jobs/1/nonsense`,
      "a.b/c/jobs/1/",
    ]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, type: "text/html; charset=utf-8" });
      expect(await ask(`POST ${path}`)).toMatchObject({
        status: 405,
        type: "text/html; charset=utf-8",
        text: "",
      });
    }
    const wrong = await ask(`GET ${MNIST}/experiments/1/stop`);
    expect(wrong).toMatchObject({ status: 405, json: { detail: 'Method "GET" not allowed.' } });
  });

  test("a record that is missing, or stands in another project, is not found", async () => {
    const { ask } = await openDemo();
    for (const path of [
      `${MNIST}/experiments/8/`,
      `${MNIST}/jobs/999/`,
      "ada/nonsense/jobs/1/",
      "nobody/mnist/jobs/1/",
      `${MNIST}/experiments/42/jobs/1/`,
      "nodes/4",
      "nodes/abc",
    ]) {
      expect(await ask(`GET ${path}`)).toMatchObject({ status: 404, json: { detail: "Not found." } });
    }
  });
});

test("the service tells what it was asked, in the order of arrival", async () => {
  const { demo, ask } = await openDemo();
  await ask(`GET ${MNIST}/experiments?limit=1`);
  await ask(`POST ${MNIST}/jobs/2/stop`);
  expect(demo.calls()).toEqual([
    `GET /api/v1/${MNIST}/experiments?limit=1`,
    `POST /api/v1/${MNIST}/jobs/2/stop`,
  ]);
  demo.forget();
  expect(demo.calls()).toEqual([]);
});
