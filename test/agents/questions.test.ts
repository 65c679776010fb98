import { parseValue, valueFromASTUntyped } from "graphql";
import { expect, test } from "vitest";
import { connectAgent } from "../support/agent.ts";
import { startDemoGateway, still, tokenOf } from "../support/demo-gateway.ts";
import { readPage } from "../docs/page.ts";

const among = (...items: object[]) =>
  expect.arrayContaining(items.map((item) => expect.objectContaining(item)));
const one = (node: object) => ({ totalCount: 1, nodes: [expect.objectContaining(node)] });
const RUNNING = { status: "RUNNING" };

/** What answers each question of docs/agents.md: a part of the result that is true of the demo. */
const ANSWERS: readonly object[] = [
  { projects: { nodes: among({ uniqueName: "ada.mnist" }) } },
  {
    projects: {
      nodes: among({
        uniqueName: "ada.speech",
        experiments: one({ uniqueName: "ada.speech.59", ...RUNNING }),
      }),
    },
  },
  { cluster: { nodes: among({ name: "node-2" }) }, projects: { nodes: among({ uniqueName: "ada.speech" }) } },
  {
    project: {
      experiments: {
        summary: {
          groups: among({ count: 24, values: [{ name: "group", value: "ada.mnist.1" }] }),
        },
      },
    },
  },
  { project: { experiments: { nodes: among({ uniqueName: "ada.mnist.1.12" }) } } },
  { project: { experiments: { nodes: [5, 4, 3, 2, 1].map((id) => ({ uniqueName: `ada.mnist.${id}` })) } } },
  {
    run: {
      status: "FAILED",
      statuses: { nodes: among({ message: expect.stringContaining("CUDA out of") }) },
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
        summary: { best: { uniqueName: "ada.mnist.1.10" }, importance: among({ name: "dropout" }) },
      },
    },
  },
  {
    compareRuns: { parameters: [{ name: "dropout", values: [0.25, 0.3] }], metrics: among({ name: "loss" }) },
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

async function startAgent() {
  const env = { MCP: "read", UPSTREAM_PROFILE: "polyaxon-0.4" };
  const gateway = await startDemoGateway({ env, now: still });
  return connectAgent(gateway, { token: tokenOf(gateway.demo, "ada") });
}

test("twelve questions are answered by a call each", async () => {
  const { use } = await startAgent();
  expect(calls).toHaveLength(ANSWERS.length);
  for (const [index, { tool, input }] of calls.entries())
    expect({ tool, ...(await use(tool, input as Record<string, unknown>)) }).toMatchObject({
      isError: false,
      result: { data: ANSWERS[index] },
    });
});

test("projects are found of another owner as well", async () => {
  const { use } = await startAgent();
  const { result } = await use("FindProjects", { owner: "grace" });
  expect(result).toMatchObject({ data: { projects: { nodes: [{ uniqueName: "grace.vision" }] } } });
});
