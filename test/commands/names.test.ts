import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

/*
 * The service finds an experiment by its own number. A slip in the number of its group would send a command to another run, so
 * such a name is read first.
 */

async function start() {
  const service = await startFake(({ method, path }) => {
    const rowOf = (id: string) => ({
      id: Number(id),
      unique_name: `ada.mnist.2.${id}`,
      last_status: "running",
    });
    const [, several] = /query=id%3A(.*?)&/.exec(path) ?? [];
    if (several) {
      const results = several
        .split("%7C")
        .filter((id) => id !== "99")
        .map(rowOf);
      return { json: { count: results.length, next: null, results } };
    }
    const [, id = ""] = /experiments\/(\d+)/.exec(path) ?? [];
    if (id === "99") return undefined;
    if (method === "GET") return { json: rowOf(id) };
    return path.endsWith("metrics") ? { json: { id: 1, values: {} } } : { json: { id: 61 } };
  });
  return {
    ...(await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } })),
    sent: service.inOrder,
  };
}

const SLIP = `ada.mnist.7.3`;
const READ = "GET ada/mnist/experiments/3/";

describe("a name with the number of another group gets no command:", () => {
  test.each([
    ["stopRun", ""],
    ["bookmarkRun", ""],
    ["archiveRun", ""],
    ["deleteRun", ""],
    ["stopExperiment", ""],
    ["deleteExperiment", ""],
    ["updateExperiment", `, input: { description: "d" }`],
    ["restartExperiment", ""],
    ["copyExperiment", ""],
    ["createExperimentMetric", `, input: { values: [{ name: "loss", value: 1 }] }`],
  ])("%s", async (name, input) => {
    const { ask, sent } = await start();
    const answer = await ask(`mutation { done: ${name}(id: "${SLIP}"${input}) { __typename } }`);
    expect(errorsOf(answer)).toEqual([
      {
        at: "done",
        code: "BAD_USER_INPUT",
        message: `id: expected the name of a run, got "${SLIP}"; run 3 is ada.mnist.2.3`,
      },
    ]);
    expect(sent()).toEqual([READ]);
  });

  test.each(["deleteRuns", "stopRuns", "deleteExperiments", "stopExperiments"])(
    "%s, nor do the others that are named",
    async (mutation) => {
      const { ask, sent } = await start();
      const answer = await ask(
        `mutation { done: ${mutation}(ids: ["ada.mnist.2.4", "${SLIP}"]) { __typename } }`,
      );
      expect(errorsOf(answer)).toMatchObject([
        { at: "done", message: `ids[1]: expected the name of a run, got "${SLIP}"; run 3 is ada.mnist.2.3` },
      ]);
      expect(sent().filter((request) => !request.startsWith("GET "))).toEqual([]);
    },
  );
});
