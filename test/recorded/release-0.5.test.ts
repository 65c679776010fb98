import { describe, expect, onTestFinished, test } from "vitest";
import { recordedAs, recordedReads, sortedOutcomeOf, startMade } from "../support/recorded-server.ts";

/** A recorded record as releases from 0.5 on write it: `config` and `declarations` under other names. */
function renewed(name: string, keys: object) {
  const { config: _, declarations: __, ...rest } = recordedAs(recordedReads, name);
  return { ...rest, ...keys };
}

describe("releases from 0.5 on", () => {
  const CONTENT = `---
version: 1
kind: experiment
build:
  image: python:3.6
  build_steps:
    - pip install -U numpy
run:
  cmd: python train.py --lr={{ lr }}
`;
  const written = {
    version: 1,
    kind: "experiment",
    build: { image: "python:3.6", build_steps: ["pip install -U numpy"] },
    run: { cmd: "python train.py --lr={{ lr }}" },
  };
  const shown = {
    version: 1,
    kind: "experiment",
    build: { image: "python:3.6", buildSteps: ["pip install -U numpy"] },
    run: { cmd: "python train.py --lr={{ lr }}" },
    raw: written,
  };
  const config = "config { version kind build { image buildSteps } run { cmd } raw }";

  test("`params` are the declarations, and `content`, YAML or JSON, is the configuration", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {
        content: CONTENT,
        params: { lr: 0.01, layers: [64, 32] },
      }),
      "alice/mnist/jobs/1/": renewed("job detail 1", { content: JSON.stringify(written) }),
      "alice/mnist/builds/1/": renewed("build detail 1", { content: CONTENT }),
    });
    const answer = await ask(`{
      experiment(id: "alice.mnist.1") { name declarations ${config} }
      job(id: "alice.mnist.jobs.1") { name ${config} }
      buildJob(id: "alice.mnist.builds.1") { commit ${config} }
    }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: {
        experiment: { name: "baseline", declarations: { lr: 0.01, layers: [64, 32] }, config: shown },
        job: { name: "prep", config: shown },
        buildJob: { commit: "3f786850e387550fdab836ed7e6dc881de23001b", config: shown },
      },
      errors: [],
    });
    expect(calls()).toEqual([
      "GET alice/mnist/builds/1/",
      "GET alice/mnist/experiments/1/",
      "GET alice/mnist/jobs/1/",
    ]);
  });

  test("a record with old and new keys is read by the old ones", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": {
        ...recordedAs(recordedReads, "experiment detail 1"),
        content: "kind: other",
        params: { lr: 9 },
      },
    });
    const answer = await ask(
      `{ experiment(id: "alice.mnist.1") { declarations config { kind run { cmd } } } }`,
    );
    expect(sortedOutcomeOf(answer)).toEqual({
      data: {
        experiment: {
          declarations: { lr: 0.01, batch_size: 64 },
          config: { kind: "experiment", run: { cmd: "python train.py --run=0" } },
        },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test.each([
    ["null", null],
    ["no YAML", "run: {cmd: [unclosed"],
    ["YAML of something else than an object", "just a sentence"],
    ["empty", ""],
  ])("content that is %s leaves the configuration null and the rest as it is", async (_, content) => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", { content, params: null }),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { name declarations config { kind } } }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { experiment: { name: "baseline", declarations: null, config: null } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test("a record without configuration and declarations under any name is asked for once", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {}),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { name declarations config { kind } } }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { experiment: { name: "baseline", declarations: null, config: null } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/"]);
  });

  test("what a content says is not repeated in a warning of the process", async () => {
    const warned: string[] = [];
    const listen = ({ message }: Error) => void warned.push(message);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const { ask } = await startMade({
      "alice/mnist/experiments/1/": renewed("experiment detail 1", {
        content: "run:\n  cmd: !vault train --password=xyzzy\n",
      }),
    });
    const answer = await ask(`{ experiment(id: "alice.mnist.1") { config { run { cmd } } } }`);
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { experiment: { config: { run: { cmd: "train --password=xyzzy" } } } },
      errors: [],
    });
    expect(warned.filter((message) => message.includes("xyzzy"))).toEqual([]);
  });

  test("the content of a group stays text", async () => {
    const { ask, calls } = await startMade({
      "alice/mnist/groups/1/": { ...recordedAs(recordedReads, "group detail 1"), content: CONTENT },
    });
    expect(sortedOutcomeOf(await ask(`{ group(id: "alice.mnist.1") { content } }`))).toEqual({
      data: { group: { content: CONTENT } },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/groups/1/"]);
  });
});
