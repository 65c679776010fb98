import { parseValue, valueFromASTUntyped } from "graphql";
import { expect, test } from "vitest";
import { connectAgent } from "../support/agent.ts";
import { startDemoGateway, still, tokenOf } from "../support/demo-gateway.ts";
import { readPage } from "../docs/page.ts";

/** What answers each question of docs/agents.md: a part of the result that is true of the demo. */
const ANSWERS: readonly object[] = [
  { projects: { nodes: expect.arrayContaining([expect.objectContaining({ uniqueName: "ada.mnist" })]) } },
  {
    projects: {
      nodes: expect.arrayContaining([
        {
          uniqueName: "ada.speech",
          experiments: {
            totalCount: 1,
            nodes: [expect.objectContaining({ uniqueName: "ada.speech.59", status: "RUNNING" })],
          },
          groups: { totalCount: 0, nodes: [] },
          jobs: {
            totalCount: 1,
            nodes: [expect.objectContaining({ uniqueName: "ada.speech.jobs.8", status: "RUNNING" })],
          },
          buildJobs: { totalCount: 0, nodes: [] },
        },
      ]),
    },
  },
  {
    cluster: { nodes: expect.arrayContaining([expect.objectContaining({ name: "node-2" })]) },
    projects: {
      nodes: expect.arrayContaining([
        expect.objectContaining({
          uniqueName: "ada.speech",
          jobs: {
            totalCount: 1,
            nodes: [{ uniqueName: "ada.speech.jobs.8", nodeScheduled: { name: "node-2" } }],
          },
        }),
      ]),
    },
  },
  {
    project: {
      experiments: {
        summary: {
          isComplete: true,
          groups: expect.arrayContaining([
            expect.objectContaining({
              values: [{ name: "group", value: "ada.mnist.1" }],
              count: 24,
              statuses: expect.arrayContaining([{ status: "FAILED", count: 3 }]),
            }),
          ]),
        },
      },
    },
  },
  { runs: { nodes: expect.arrayContaining([expect.objectContaining({ uniqueName: "ada.mnist.1.12" })]) } },
  {
    runs: {
      totalCount: 5,
      nodes: [5, 4, 3, 2, 1].map((id) => ({ uniqueName: `ada.mnist.${id}`, user: { username: "ada" } })),
    },
  },
  {
    run: {
      status: "FAILED",
      statuses: {
        nodes: expect.arrayContaining([
          expect.objectContaining({ message: expect.stringContaining("CUDA out of memory") }),
        ]),
      },
    },
  },
  {
    group: {
      experiments: {
        nodes: [{ uniqueName: "ada.mnist.1.10", best: 0.1055 }, { uniqueName: "ada.mnist.1.15" }],
      },
    },
  },
  {
    group: {
      experiments: {
        summary: {
          scanned: 24,
          isComplete: true,
          best: { uniqueName: "ada.mnist.1.10" },
          importance: expect.arrayContaining([expect.objectContaining({ name: "dropout" })]),
        },
      },
    },
  },
  {
    compareRuns: {
      parameters: [{ name: "dropout", values: [0.25, 0.3] }],
      metrics: expect.arrayContaining([{ name: "loss", values: [0.1055, 0.1498] }]),
    },
  },
  {
    entities: ["ada.mnist.1.10", "ada.mnist.1.15"].map((uniqueName) => ({
      uniqueName,
      metricSeries: [{ name: "accuracy" }, { name: "loss" }],
    })),
  },
  {
    experiment: {
      codeReference: { branch: "master", commit: "0daf388c796be0b35828f74c2a72c4005c32c43b" },
      dataReferences: { mnist: expect.any(String) },
    },
  },
];

/** The calls of the page: a tool, and its arguments as GraphQL writes them. */
const calls = [...readPage("docs/agents.md").text.matchAll(/^\| [^|]+\? \| `(\w+)(?:\((.*)\))?` \|$/gm)].map(
  ([, tool = "", args = ""]) => ({ tool, input: valueFromASTUntyped(parseValue(`{ ${args} }`)) }),
);

test("twelve questions are answered by a call each", async () => {
  const gateway = await startDemoGateway({
    env: { MCP: "read", UPSTREAM_PROFILE: "polyaxon-0.4" },
    now: still,
  });
  const { use } = await connectAgent(gateway, { token: tokenOf(gateway.demo, "ada") });
  expect(calls).toHaveLength(ANSWERS.length);
  for (const [index, { tool, input }] of calls.entries())
    expect({ tool, ...(await use(tool, input as Record<string, unknown>)) }).toMatchObject({
      isError: false,
      result: { data: ANSWERS[index] },
    });
});

test("names that are misspelt are seen beside those that there are", async () => {
  const gateway = await startDemoGateway({
    env: { MCP: "read", UPSTREAM_PROFILE: "polyaxon-0.4" },
    now: still,
  });
  const { use } = await connectAgent(gateway, { token: tokenOf(gateway.demo, "ada") });
  const misspelt = { id: "ada.mnist.1", metric: "acuracy", direction: "DESC", by: ["learning_rate"] };
  expect((await use("SearchSummary", misspelt)).result).toMatchObject({
    data: {
      group: {
        experiments: {
          summary: {
            metrics: [{ name: "accuracy" }, { name: "loss" }],
            parameters: [
              { name: "activation", distinctCount: 2, min: null, max: null },
              { name: "dropout" },
              { name: "lr", distinctCount: 5, min: 0.001, max: 0.101 },
            ],
            best: null,
            groups: [{ values: [{ name: "learning_rate", value: null }], count: 24 }],
          },
        },
      },
    },
  });
});

test("projects are found of another owner as well", async () => {
  const gateway = await startDemoGateway({ env: { MCP: "read", UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const { use } = await connectAgent(gateway, { token: tokenOf(gateway.demo, "ada") });
  const { result } = await use("FindProjects", { owner: "grace" });
  expect(result).toMatchObject({ data: { projects: { nodes: [{ uniqueName: "grace.vision" }] } } });
});

test("nobody takes an experiment for the group of the same name", async () => {
  const gateway = await startDemoGateway({
    env: { MCP: "read", UPSTREAM_PROFILE: "polyaxon-0.4" },
    now: still,
  });
  const { use } = await connectAgent(gateway, { token: tokenOf(gateway.demo, "ada") });
  const isOf = (type: string) => ({ isError: false, result: { data: { run: { __typename: type } } } });
  for (const tool of ["WhyFailed", "StatusTimeline"]) {
    expect(await use(tool, { id: "ada.mnist.1" })).toMatchObject(isOf("Experiment"));
    expect(await use(tool, { id: "ada.mnist.1", kind: "GROUP" })).toMatchObject(isOf("Group"));
  }
  // Groups have no log, so the name says enough.
  expect((await use("RunLog", { id: "ada.mnist.1", lines: 1 })).result).toMatchObject({
    data: { run: { status: "SUCCEEDED", logs: { lines: [expect.any(String)] } } },
  });
});
