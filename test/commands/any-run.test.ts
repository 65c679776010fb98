import { expect, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const startAny = async (profile = "polyaxon-0.4") => {
  const service = await startWilling();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: profile } });
  return { ask, sent: service.inOrder };
};

test.each([
  ["Experiment", `id: "ada.mnist.3", kind: EXPERIMENT`, "experiments/3"],
  ["Job", `id: "ada.mnist.jobs.5"`, "jobs/5"],
  ["BuildJob", `id: "ada.mnist.builds.7"`, "builds/7"],
  ["Group", `id: "ada.mnist.2", kind: GROUP`, "groups/2"],
  ["Group", `id: "${globalId("Group:ada/mnist/2")}"`, "groups/2"],
])("a mutation of any run sends the command of its kind: of the %s with %s", async (kind, id, path) => {
  const { ask, sent } = await startAny();
  const run = `{ run { __typename project { name } } }`;
  const answer = await ask(`mutation {
    a: stopRun(${id}) ${run}
    b: bookmarkRun(${id}) ${run}
    c: bookmarkRun(${id}, isBookmarked: false) ${run}
    d: archiveRun(${id}) ${run}
    e: archiveRun(${id}, isArchived: false) ${run}
    deleteRun(${id}) { deletedId project { uniqueName } }
  }`);
  const done = { run: { __typename: kind, project: { name: "mnist" } } };
  const deletedId = globalId(`${kind}:ada/mnist/${path.split("/")[1]}`);
  const deleteRun = { deletedId, project: { uniqueName: "ada.mnist" } };
  expect(answer).toEqual({ data: { a: done, b: done, c: done, d: done, e: done, deleteRun } });
  const of = `ada/mnist/${path}`;
  expect(sent()).toEqual([
    `POST ${of}/stop`,
    `POST ${of}/bookmark/`,
    `DELETE ${of}/unbookmark/`,
    `POST ${of}/archive`,
    `POST ${of}/restore`,
    `DELETE ${of}/`,
  ]);
});

test("payloads of one kind and of any share an interface", async () => {
  const { ask } = await startAny();
  const fragments = `fragment R on RunPayload { run { __typename } } fragment D on DeletedRun { deletedId }`;
  const { data, errors } = await ask(
    `mutation {
      a: stopJob(id: "ada.mnist.jobs.5") { ...R }
      b: stopRun(id: "ada.mnist.jobs.5") { ...R isSent }
      c: bookmarkGroup(id: "ada.mnist.2") { ...R }
      d: deleteJob(id: "ada.mnist.jobs.5") { ...D }
      e: deleteRun(id: "ada.mnist.jobs.5") { ...D }
    } ${fragments}`,
  );
  expect(errors).toBeUndefined();
  const deleted = { deletedId: globalId("Job:ada/mnist/5") };
  expect(data).toEqual({
    a: { run: { __typename: "Job" } },
    b: { run: { __typename: "Job" }, isSent: true },
    c: { run: { __typename: "Group" } },
    d: deleted,
    e: deleted,
  });
});

test.each([
  [
    `id: "ada.mnist.3"`,
    'id: expected a global id, or `kind: EXPERIMENT` or `kind: GROUP` as well, got "ada.mnist.3", which can name Experiment or Group',
  ],
  [`id: "ada.mnist"`, 'id: expected a global id or a name such as ada.mnist.42, got "ada.mnist"'],
  [`id: "nonsense"`, 'id: expected a global id or a name such as ada.mnist.42, got "nonsense"'],
  [`id: "${globalId("Project:ada/mnist")}"`, "id: expected the id of a run, got the id of a Project"],
  [`id: "ada.mnist.jobs.5", kind: GROUP`, "id: expected the id of a Group, got the id of a Job"],
])("what names no run, or two, is refused unsent: %s", async (id, message) => {
  const { ask, sent } = await startAny();
  expect(outcomeOf(await ask(`mutation { deleteRun(${id}) { deletedId } }`))).toEqual({
    data: { deleteRun: null },
    errors: [failure("deleteRun", "BAD_USER_INPUT", message)],
  });
  expect(sent()).toEqual([]);
});
