import { expect, onTestFinished, test } from "vitest";
import { outcomeOf } from "../support/errors.ts";
import { recordedAs } from "./recorded-server.ts";
import CONFIG from "./config-0.5.json" with { type: "json" };
import { startBefore } from "../support/gateway.ts";

/** A recorded record as releases from 0.5 on send it: with other names for `config` and `declarations`. */
function renewed(name: string, keys: object) {
  const { config: _, declarations: __, ...rest } = recordedAs(name);
  return { ...rest, ...keys };
}

test("since 0.5, parameters come from `params` and the configuration from `content`", async () => {
  const { ask, service } = await startBefore({
    "alice/mnist/experiments/1/": renewed("experiment detail 1", {
      content: CONFIG.content,
      params: { lr: 0.01, layers: [64, 32] },
    }),
    "alice/mnist/jobs/1/": renewed("job detail 1", { content: JSON.stringify(CONFIG.written) }),
    "alice/mnist/builds/1/": renewed("build detail 1", { content: CONFIG.content }),
    "alice/mnist/groups/1/": { ...recordedAs("group detail 1"), content: CONFIG.content },
  });
  const config = "config { version kind build { image buildSteps } run { cmd } raw }";
  const answer = await ask(`{
    experiment(id: "alice.mnist.1") { name parameters { name value } ${config} }
    job(id: "alice.mnist.jobs.1") { name ${config} }
    buildJob(id: "alice.mnist.builds.1") { ${config} }
    group(id: "alice.mnist.1") { content }
  }`);
  expect(outcomeOf(answer)).toEqual({
    data: {
      experiment: {
        name: "baseline",
        parameters: [
          { name: "layers", value: [64, 32] },
          { name: "lr", value: 0.01 },
        ],
        config: CONFIG.shown,
      },
      job: { name: "prep", config: CONFIG.shown },
      buildJob: { config: CONFIG.shown },
      group: { content: CONFIG.content },
    },
    errors: [],
  });
  expect(service.calls()).toEqual(
    ["builds", "experiments", "groups", "jobs"].map((list) => `GET alice/mnist/${list}/1/`),
  );
});

test("`declarations` take precedence over `params`", async () => {
  const { ask } = await startBefore({
    "alice/mnist/experiments/1/": {
      ...recordedAs("experiment detail 1"),
      declarations: { lr: 1 },
      params: {},
    },
  });
  expect(await ask(`{ experiment(id: "alice.mnist.1") { parameters { name value } } }`)).toEqual({
    data: { experiment: { parameters: [{ name: "lr", value: 1 }] } },
  });
});

test("a process warning does not contain the text of a configuration", async () => {
  const warned: string[] = [];
  const listen = ({ message }: Error) => void warned.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const { ask } = await startBefore({
    "alice/mnist/experiments/1/": renewed("experiment detail 1", {
      content: "run:\n  cmd: !vault train --password=xyzzy\n",
    }),
  });
  const answer = await ask(`{ experiment(id: "alice.mnist.1") { config { run { cmd } } } }`);
  expect(answer.data).toEqual({ experiment: { config: { run: { cmd: "train --password=xyzzy" } } } });
  expect(warned.filter((message) => message.includes("xyzzy"))).toEqual([]);
});
