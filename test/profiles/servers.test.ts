import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { failure, sortedErrorsOf } from "../support/errors.ts";
import { issuesOf as faultsIn } from "../support/settings-issues.ts";
import { startGateway } from "../support/gateway.ts";
import { documentedProfile, profileFile, startTracker } from "../support/tracker.ts";
import FAULTS from "./faults.json" with { type: "json" };

/** Starts the tracker behind a gateway that knows it only by the example of docs/server-profiles.md. */
async function startDescribed(env: Record<string, string> = {}) {
  const tracker = await startTracker();
  const gateway = await startGateway({
    upstream: tracker,
    env: { UPSTREAM_PROFILE: profileFile(documentedProfile()), ...env },
  });
  return { ...gateway, tracker, calls: tracker.calls };
}

/** The error of a field that the server does not support. */
const lacking = (at: string, what: string) => {
  const message = `${at.split(".").at(-1)}: The server behind this gateway does not offer ${what}.`;
  return failure(at, "CAPABILITY_UNAVAILABLE", message);
};

interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly internalId: string } }[];
  readonly totalCount: number | null;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}
interface Experiments {
  readonly project: { readonly experiments: Page };
}

const EXPERIMENTS = `query ($first: Int, $after: String) { project(id: "ada.mnist") {
  experiments(first: $first, after: $after, order: { by: { field: CREATED_AT }, direction: ASC }) {
    edges { cursor node { internalId } } totalCount pageInfo { hasNextPage endCursor }
  }
} }`;

const TRIALS = "GET /v2/projects/ada/mnist/trials";
const OLDEST_FIRST = "order_by=created&direction=asc";

describe("a server described only by a profile file", () => {
  test("pages a list by its own offsets, from any item", async () => {
    const { ask, calls } = await startDescribed();
    const read = async (variables: object) =>
      (await ask<Experiments, object>(EXPERIMENTS, variables)).data.project.experiments;
    const idsOf = ({ edges }: Page) => edges.map(({ node }) => node.internalId);
    const first = await read({ first: 3 });
    const rest = await read({ first: 100, after: first.pageInfo.endCursor });
    const second = await read({ first: 2, after: first.edges[1]?.cursor });
    expect([first, rest, second].map(idsOf)).toEqual([
      ["1", "2", "3"],
      ["4", "5", "6", "7"],
      ["3", "4"],
    ]);
    expect([first, rest].map(({ totalCount, pageInfo }) => [totalCount, pageInfo.hasNextPage])).toEqual([
      [7, true],
      [7, false],
    ]);
    // Every requested page is within the server's page size.
    expect(calls()).toEqual(
      ["limit=2&from=2", "limit=3", "limit=50&from=3"].map((page) => `${TRIALS}?${OLDEST_FIRST}&${page}`),
    );
  });

  test.each([
    ["status", ["images?ids=2%2C1&limit=20"]],
    ["dockerfile", ["images/1", "images/2"]],
  ])("gets batched reads unless its lists omit the selected field: %s", async (field, images) => {
    const { ask, calls } = await startDescribed();
    const { errors } = await ask(
      `{ project(id: "ada.mnist") { experiments(first: 2) { nodes { buildJob { ${field} } } } } }`,
    );
    expect(errors).toBeUndefined();
    expect(calls()).toEqual([
      ...images.map((path) => `GET /v2/projects/ada/mnist/${path}`),
      `${TRIALS}?limit=2`,
    ]);
  });

  test("receives commands at its endpoints and the token in its own scheme", async () => {
    const { ask, tracker, calls } = await startDescribed();
    const stop = `mutation { stopExperiment(id: "ada.mnist.7", force: true) { experiment { uniqueName config { kind } } } }`;
    const stopped = {
      data: { stopExperiment: { experiment: { uniqueName: "ada.mnist.7", config: { kind: "experiment" } } } },
    };
    expect(await ask(stop)).toEqual(stopped);
    expect(await ask(stop, {}, { headers: { authorization: "Bearer t0ken" } })).toEqual(stopped);
    const path = "/v2/projects/ada/mnist/trials/7";
    expect(calls()).toEqual([`GET ${path}`, `GET ${path}`, `POST ${path}/cancel`, `POST ${path}/cancel`]);
    expect(new Set(tracker.seen().map(({ headers }) => headers["authorization"]))).toEqual(
      new Set(["Bearer t0ken"]),
    );
  });

  test("has its endpoints in errors, and its version and capabilities in `gateway`", async () => {
    const { ask } = await startDescribed();
    const { data, errors } = await ask(`{
      experiment(id: "ada.mnist.8") { status }
      gateway { upstreamApiVersion capabilities }
    }`);
    expect(data).toMatchObject({
      gateway: {
        upstreamApiVersion: "v2",
        capabilities: ["OFFSETS", "PROJECT_RECORDS", "JOB_RESUME", "JOB_COPY"],
      },
    });
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "NOT_FOUND",
      upstream: { method: "GET", route: "projects/{owner}/{project}/trials/{id}", status: 404 },
    });
  });
});

/** Starts the demo's server, described by a file that differs from a built-in profile. */
const startExtended = (written: object) => {
  const frozen = Date.parse("2026-06-01T12:00:00Z");
  const UPSTREAM_PROFILE = profileFile(JSON.stringify(written), "server.json");
  return startDemoGateway({ now: () => frozen, env: { UPSTREAM_PROFILE } });
};

describe("a file that extends a built-in profile", () => {
  test("can remove endpoints, and define endpoints that the profile lacks", async () => {
    const { ask, calls } = await startExtended({
      extends: "polyaxon-0.4",
      endpoints: {
        experiment: { metrics: null },
        cluster: { read: null },
        job: { copy: "PUT {project}/of/{owner}/job-{id}" },
      },
    });
    const answer = await ask(`{
      experiment(id: "ada.mnist.42") { status metrics { totalCount } }
      cluster { uuid }
    }`);
    expect(answer.data).toEqual({ experiment: { status: "SUCCEEDED", metrics: null }, cluster: null });
    expect(sortedErrorsOf(answer)).toEqual([
      lacking("cluster", "GET cluster/"),
      lacking("experiment.metrics", "GET {owner}/{project}/experiments/{id}/metrics"),
    ]);
    const { errors } = await ask(`mutation { copyJob(id: "ada.mnist.jobs.1") { job { id } } }`);
    // The demo does not know the path. The error names the endpoint that the profile defines.
    expect(errors?.map(({ extensions }) => extensions["upstream"])).toEqual([
      { method: "PUT", route: "{project}/of/{owner}/job-{id}", status: 405 },
    ]);
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "PUT mnist/of/ada/job-1"]);
  });
});

describe("an invalid profile", () => {
  const issuesOf = (text: string) => faultsIn({ UPSTREAM_PROFILE: profileFile(text) });

  test.each(FAULTS)(
    "is refused at startup, with the location of each error: %s",
    (text = "", ...reported) => {
      const problems = issuesOf(text);
      expect(problems).toHaveLength(reported.length);
      for (const [index, each] of reported.entries()) {
        expect(problems[index]?.slice(0, `UPSTREAM_PROFILE: ${each}`.length)).toBe(
          `UPSTREAM_PROFILE: ${each}`,
        );
      }
    },
  );

  const many = (count: number, lineOf: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${lineOf(index)}\n`).join("");

  test.each([
    ["keys that are unknown", many(1_000, (index) => `key${index}: 1`), "further faults: 980"],
    ["values that cannot be used", `omittedInLists: {jobs: [${"1,".repeat(500)}]}`, "further faults: 480"],
  ])("reports its first 20 errors and counts the rest: %s", (_, text, last) => {
    const problems = issuesOf(text);
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toBe(`UPSTREAM_PROFILE: ${last}`);
  });

  test("is not parsed if it is too long", () => {
    expect(issuesOf(many(60_000, (index) => `key${index}: 1`))).toEqual([
      "UPSTREAM_PROFILE: expected at most 32768 characters, got 708890",
    ]);
  });
});
