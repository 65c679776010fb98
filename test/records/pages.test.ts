import { expect, test } from "vitest";
import { OriginDocument, ProjectPageDocument } from "../generated/graphql.ts";
import { startProfile } from "../support/profiles.ts";

test("the page of a run's origin takes two requests: the run and its code reference", async () => {
  const { ask, calls } = await startProfile();
  const { data, errors } = await ask(OriginDocument, { id: "ada.mnist.42" });
  expect(errors).toBeUndefined();
  const commit = expect.stringMatching(/^[0-9a-f]{40}$/);
  expect(data.experiment).toMatchObject({
    uniqueName: "ada.mnist.42",
    cloningStrategy: "RESTART",
    original: { uniqueName: "ada.mnist.37" },
    codeReference: { branch: "wide-kernels", commit, isDirty: true, url: null },
    framework: "pytorch",
    runEnvironment: { python_version: "3.6.6" },
    dataReferences: { mnist: commit },
  });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/experiments/42/coderef"]);
});

test("the page of a project takes one request", async () => {
  const { ask, calls } = await startProfile();
  const { data, errors } = await ask(ProjectPageDocument, { id: "ada.mnist" });
  expect(errors).toBeUndefined();
  expect(data.project).toMatchObject({
    description: "Handwritten digits: how small can a network be?",
    tags: ["vision", "demo"],
    isPublic: true,
    experimentCount: 46,
    groupCount: 2,
    jobCount: 6,
    buildJobCount: 5,
  });
  expect(calls()).toEqual(["GET ada/mnist"]);
});
