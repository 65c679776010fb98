import { expect, test } from "vitest";
import { BulkActionsDocument, type BulkActionsMutationVariables } from "../generated/graphql.ts";
import { startDemoGateway, startDemoService, tokenOf } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

const variables: BulkActionsMutationVariables = {
  a: "ada.mnist.42",
  b: "ada.mnist.jobs.2",
  old: "ada.mnist.2",
  note: "The best so far",
};

const ids = {
  experiment: globalId("Experiment:ada/mnist/42"),
  job: globalId("Job:ada/mnist/2"),
  group: globalId("Group:ada/mnist/2"),
};

/** The requests of the whole operation in the order of their arrival. */
const REQUESTS = [
  "PATCH ada/mnist/experiments/42/",
  "POST ada/mnist/experiments/42/bookmark/",
  "GET ada/mnist/experiments/42/",
  "POST ada/mnist/experiments/42/metrics",
  "POST ada/mnist/jobs/2/stop",
  "GET ada/mnist/jobs/2/",
  "POST ada/mnist/groups/2/tensorboard/start",
  "GET ada/mnist/groups/2/",
  "DELETE ada/mnist/groups/2/",
];

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
/** The demo's spelling of that moment. */
const JUST_NOW = expect.stringMatching(/^2026-06-01T12:00:00\.000\d{3}\+00:00$/);

const done = {
  describe: { experiment: { id: ids.experiment, description: "The best so far", updatedAt: JUST_NOW } },
  keep: { experiment: { id: ids.experiment, bookmarked: true } },
  record: {
    metric: {
      id: expect.any(String),
      createdAt: JUST_NOW,
      values: [{ name: "review_score", value: 4.5 }],
    },
  },
  halt: { job: { id: ids.job, status: "STOPPING", phase: "ACTIVE" } },
  board: { group: { id: ids.group, hasTensorboard: true } },
  clean: {
    deletedId: ids.group,
    project: { id: globalId("Project:ada/mnist"), uniqueName: "ada.mnist" },
  },
};

/** The requests in the order of their arrival, without the prefix they all have. */
const arrived = (calls: readonly string[]) => calls.map((call) => call.replace(" /api/v1/", " "));

test("six actions in one operation run one after the other, and each answer is read after its own", async () => {
  const { ask, demo } = await startDemoGateway({ now: () => NOW });
  expect(await ask(BulkActionsDocument, variables)).toEqual({ data: done });
  expect(arrived(demo.calls())).toEqual(REQUESTS);
});

/** The demo behind a service that refuses one request, and passes the others on. */
async function startRefusing(refused: string) {
  const demo = await startDemoService({ now: () => NOW });
  const service = await startFake(async ({ method, path, headers, body }) => {
    if (`${method} ${path}` === refused) return { status: 409, json: { detail: "The run is locked." } };
    const answer = await fetch(demo.url + path, {
      method,
      headers: {
        authorization: `${headers["authorization"]}`,
        ...(body === "" ? {} : { "content-type": "application/json" }),
      },
      ...(body === "" ? {} : { body }),
    });
    return { status: answer.status, text: await answer.text() };
  });
  const gateway = await startGateway({ upstream: service, token: tokenOf(demo, "ada") });
  return { ...gateway, seen: () => service.seen().map(({ method, path }) => `${method} ${path}`) };
}

test.each([
  ["describe", "PATCH ada/mnist/experiments/42/", "{owner}/{project}/experiments/{id}/", []],
  [
    "keep",
    "POST ada/mnist/experiments/42/bookmark/",
    "{owner}/{project}/experiments/{id}/bookmark/",
    ["GET ada/mnist/experiments/42/"],
  ],
  ["record", "POST ada/mnist/experiments/42/metrics", "{owner}/{project}/experiments/{id}/metrics", []],
  ["halt", "POST ada/mnist/jobs/2/stop", "{owner}/{project}/jobs/{id}/stop", ["GET ada/mnist/jobs/2/"]],
  [
    "board",
    "POST ada/mnist/groups/2/tensorboard/start",
    "{owner}/{project}/groups/{id}/tensorboard/start",
    ["GET ada/mnist/groups/2/"],
  ],
  ["clean", "DELETE ada/mnist/groups/2/", "{owner}/{project}/groups/{id}/", []],
] as const)(
  "when `%s` of six actions is refused its field is null, its error names it, and the others are done",
  async (field, request, route, unread) => {
    const { ask, seen } = await startRefusing(request.replace(" ", " /api/v1/"));
    const { data, errors } = await ask(BulkActionsDocument, variables);
    expect(data).toEqual({ ...done, [field]: null });
    expect(errors).toEqual([
      {
        message: "The run is locked.",
        path: [field],
        locations: [expect.any(Object)],
        extensions: {
          code: "CONFLICT",
          requestId: expect.any(String),
          upstream: { method: request.split(" ")[0], route, status: 409 },
        },
      },
    ]);
    const isUnread = (call: string) => unread.some((each) => each === call);
    expect(arrived(seen())).toEqual(REQUESTS.filter((call) => !isUnread(call)));
  },
);
