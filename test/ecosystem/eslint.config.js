import graphql from "@graphql-eslint/eslint-plugin";

// Run with: npx --prefix test/ecosystem eslint --config test/ecosystem/eslint.config.js schema examples/runs/src

const EXAMPLE = "examples/runs/src/*.{ts,tsx}";
const schema = "schema/schema.graphql";

/** The directives that the subgraph imports by `@link`, which the plugin reads only in an `extend schema`. */
const FEDERATION = `
directive @link(url: String!, import: [String]) repeatable on SCHEMA
directive @key(fields: String!) repeatable on OBJECT | INTERFACE
directive @shareable on OBJECT | FIELD_DEFINITION
`;

/** Separate projects, because names of operations are unique only within each. */
const graphQLConfig = {
  projects: {
    subgraph: { schema: ["schema/subgraph.graphql", FEDERATION] },
    shipped: { schema, documents: "schema/operations/*.graphql" },
    example: { schema, documents: EXAMPLE },
  },
};

const rulesOf = (name) => graphql.configs[`flat/${name}`].rules;
const rule = (name, value) => ({ [`@graphql-eslint/${name}`]: value });

/** Values belong to their parent. A cache that stored them by an id of their own would mix them up. */
const VALUES = [
  "ActiveRun",
  "ActiveRuns",
  "Breakdown",
  "BuildConfig",
  "CodeReference",
  "ComparedValues",
  "DataReference",
  "ExperimentComparison",
  "ExperimentCounts",
  "ExperimentSummary",
  "GatewayInfo",
  "GatewayLimits",
  "Gpu",
  "HyperparameterTuning",
  "ListScan",
  "LogChunk",
  "MatrixLinspace",
  "MatrixOther",
  "MatrixParameter",
  "MatrixValues",
  "MetricPoint",
  "MetricRecordResult",
  "MetricSeries",
  "MetricStatistics",
  "MetricSummary",
  "MetricValue",
  "OutputFile",
  "OutputFolder",
  "OutputSubfolder",
  "PageInfo",
  "ParameterImportance",
  "ParameterRange",
  "ParameterValue",
  "ParameterValueCount",
  "PlatformVersion",
  "RandomSearch",
  "ResourceAmount",
  "Resources",
  "RunCommand",
  "RunConfig",
  "RunUpdate",
  "StatusCount",
];

export default [
  // A released schema stays as it was.
  { ignores: ["schema/released.graphql"] },
  {
    files: ["**/*.graphql"],
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig } },
    plugins: { "@graphql-eslint": graphql },
  },
  {
    files: ["schema/*.graphql"],
    rules: {
      ...rulesOf("schema-recommended"),
      ...rulesOf("schema-relay"),
      ...rule("strict-id-in-types", [
        "error",
        // Pages, payloads and the results in payloads have no identity either.
        { exceptions: { types: VALUES, suffixes: ["Connection", "Edge", "Payload", "RunResult"] } },
      ]),
      // The service uses the words `experimentGroup`, `groupType` and `username`. `group` would be another name for a `Group`.
      ...rule("no-typename-prefix", "off"),
      // Lists of the service can only be read forward.
      ...rule("relay-arguments", ["error", { includeBoth: false }]),
      ...rule("relay-edge-types", [
        "error",
        {
          // `nodes` beside `edges` saves a level, as at GitHub. Lists such as `tags` arrive complete with their record.
          listTypeCanWrapOnlyEdgeType: false,
          // The interface is `Entity`, or `Node` with `TYPE_NAMES=relay`. Entries of a record cannot be looked up.
          shouldImplementNode: false,
        },
      ]),
    },
  },
  {
    files: [EXAMPLE],
    // The documents in the code. The code itself has another linter.
    processor: {
      ...graphql.processor,
      preprocess: (text, file) =>
        graphql.processor.preprocess(text, file).filter((block) => typeof block === "object"),
    },
  },
  {
    files: ["schema/operations/*.graphql", `${EXAMPLE}/*.graphql`],
    rules: rulesOf("operations-recommended"),
  },
  {
    // Agents read these responses once and no cache keeps them. Each id would use up tokens of the agent.
    files: ["schema/operations/{32,33,35,38,39}-*.graphql"],
    rules: rule("require-selections", "off"),
  },
];
