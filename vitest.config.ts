import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { measureMachine, within } from "./test/support/machine.ts";
import { isFull } from "./test/support/cases.ts";
import { nodePool } from "./test/support/node-pool.ts";
import { SMOKE } from "./test/support/smoke.ts";

measureMachine();

const folderOf = (workspace: string) => new URL(`${workspace}/node_modules/`, import.meta.url);
const installed = (workspace: string): readonly string[] =>
  existsSync(folderOf(workspace))
    ? readdirSync(folderOf(workspace)).filter((name) => !name.startsWith("."))
    : [];

/** Folders with dependencies of their own. Their tests run after `npm ci` there. */
const WORKSPACES = ["examples/runs", "test/ecosystem", "test/nodes"];
for (const workspace of WORKSPACES.filter((each) => installed(each).length === 0))
  process.stdout.write(`The tests of ${workspace}/ do not run: npm ci --prefix ${workspace}\n`);

/**
 * Tests that start browsers, balancers or dozens of processes, or fill the memory. They take more than half of the time of all tests, and
 * run in CI, where `FULL=1` is set, and if files are named on the command line.
 */
const LONG = [
  "browser/*",
  "config/{built-demo,process}",
  "deploy/balancers",
  "docs/{contributing,tracing}",
  "ecosystem/agents/conformance",
  "ecosystem/clients/{graphql-eslint,incremental-browser}",
  "ecosystem/federation/{apollo-gateway,composition,hive-gateway}",
  "ecosystem/recipes/*",
  "faults/framing",
  "http/drain",
  "incremental/same-answers",
  "limits/plans",
  "live/long-logs",
  "logs/windows",
  "memory/{parsed,worst}",
  "package/{closed,installed}",
  "schema-compatibility",
  "../examples/runs/test/*",
].map((name) => join("test", `${name}.test.ts`));
const isNamed = process.argv.slice(2).some((argument) => !argument.startsWith("-") && argument !== "run");
const isWhole = isFull || isNamed;

/** Files that take a minute or more start first. If one started last, it would leave all cores but one idle. */
const LONGEST = /\/(?:examples\/runs\/.*|recipes|same-answers|graphiql|plan)\.test\.ts$/;

const isLongest = ({ moduleId }: TestSpecification): boolean => LONGEST.test(moduleId);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of Vitest, not of an array
    const sorted = await super.sort(files);
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}

const project = (test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration => ({
  resolve: {
    // Vitest would load two copies of graphql (`.mjs` for our files, `.js` for Yoga and Pothos),
    // and `instanceof GraphQLError` would fail between them.
    alias: [{ find: /^graphql$/, replacement: "graphql/index.js" }],
  },
  test: {
    // Tests that hang fail soon. `timeouts.ts` names the tests that need more time.
    testTimeout: within(10_000),
    hookTimeout: within(10_000),
    setupFiles: ["./test/support/timeouts.ts"],
    // Only tests whose browser has ended are retried, because Chromium ends if memory is short.
    retry: { count: 2, condition: /context or browser has been closed|(?:Target|Page) crashed/ },
    // The schema is built once per worker and not once per file, because tests clean up after themselves.
    isolate: false,
    ...test,
  },
});

export default defineConfig({
  test: {
    globalSetup: ["./test/support/run-folder.ts"],
    reporters: ["default", "./test/support/closing-line.ts"],
    // More than the number of cores, because tests wait for processes, browsers and deadlines for a third of the time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    sequence: { sequencer: LongestFirst },
    projects: [
      project({
        name: process.version,
        include: ["test/**/*.test.ts", "examples/runs/test/**/*.test.ts"],
        exclude: [
          "**/node_modules/**",
          ...WORKSPACES.filter((each) => installed(each).length === 0).map((each) => `${each}/**`),
          ...(isWhole ? [] : LONG),
        ],
      }),
      // On systems without builds of these versions of Node.js, none is installed.
      ...(isWhole ? installed("test/nodes") : []).map((name) =>
        project({
          name,
          include: [...SMOKE],
          pool: nodePool(fileURLToPath(new URL(`${name}/bin/node`, folderOf("test/nodes")))),
        }),
      ),
    ],
  },
});
