import { expect, onTestFinished, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { recordedAs, startMade } from "./recorded-server.ts";

/** A recorded record as releases from 0.5 on write it: `config` and `declarations` under other names. */
function renewed(name: string, keys: object) {
  const { config: _, declarations: __, ...rest } = recordedAs(name);
  return { ...rest, ...keys };
}

const startRenewed = (keys: object) =>
  startMade({ "alice/mnist/experiments/1/": renewed("experiment detail 1", keys) });

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
const run = { cmd: "python train.py --lr={{ lr }}" };
const written = {
  version: 1,
  kind: "experiment",
  build: { image: "python:3.6", build_steps: ["pip install -U numpy"] },
  run,
};
const shown = {
  version: 1,
  kind: "experiment",
  build: { image: "python:3.6", buildSteps: ["pip install -U numpy"] },
  run,
  raw: written,
};

test("from 0.5 on, `params` are the declarations, and `content`, YAML or JSON, is the configuration", async () => {
  const { ask, calls } = await startMade({
    "alice/mnist/experiments/1/": renewed("experiment detail 1", {
      content: CONTENT,
      params: { lr: 0.01, layers: [64, 32] },
    }),
    "alice/mnist/jobs/1/": renewed("job detail 1", { content: JSON.stringify(written) }),
    "alice/mnist/builds/1/": renewed("build detail 1", { content: CONTENT }),
    "alice/mnist/groups/1/": { ...recordedAs("group detail 1"), content: CONTENT },
  });
  const config = "config { version kind build { image buildSteps } run { cmd } raw }";
  const answer = await ask(`{
    experiment(id: "alice.mnist.1") { name declarations { name value } ${config} }
    job(id: "alice.mnist.jobs.1") { name ${config} }
    buildJob(id: "alice.mnist.builds.1") { ${config} }
    group(id: "alice.mnist.1") { content }
  }`);
  expect(outcomeOf(answer)).toEqual({
    data: {
      experiment: {
        name: "baseline",
        declarations: [
          { name: "layers", value: [64, 32] },
          { name: "lr", value: 0.01 },
        ],
        config: shown,
      },
      job: { name: "prep", config: shown },
      buildJob: { config: shown },
      group: { content: CONTENT },
    },
    errors: [],
  });
  expect(calls()).toEqual(
    ["builds", "experiments", "groups", "jobs"].map((list) => `GET alice/mnist/${list}/1/`),
  );
});

test("a record with old and new keys is read by the old ones", async () => {
  const { ask } = await startMade({
    "alice/mnist/experiments/1/": {
      ...recordedAs("experiment detail 1"),
      content: "kind: other",
      params: { lr: 9 },
    },
  });
  const answer = await ask(
    `{ experiment(id: "alice.mnist.1") { declarations { name value } config { kind } } }`,
  );
  expect(outcomeOf(answer)).toEqual({
    data: {
      experiment: {
        declarations: [
          { name: "batch_size", value: 64 },
          { name: "lr", value: 0.01 },
        ],
        config: { kind: "experiment" },
      },
    },
    errors: [],
  });
});

test("what a content says is not repeated in a warning of the process", async () => {
  const warned: string[] = [];
  const listen = ({ message }: Error) => void warned.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const { ask } = await startRenewed({ content: "run:\n  cmd: !vault train --password=xyzzy\n" });
  const answer = await ask(`{ experiment(id: "alice.mnist.1") { config { run { cmd } } } }`);
  expect(answer.data).toEqual({ experiment: { config: { run: { cmd: "train --password=xyzzy" } } } });
  expect(warned.filter((message) => message.includes("xyzzy"))).toEqual([]);
});
