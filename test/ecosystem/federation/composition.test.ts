import { describe, expect, test } from "vitest";
import { readPage } from "../../docs/page.ts";
import { everyNth } from "../../support/cases.ts";
import { federate, fieldsOf, withApollo, withGuild, withWundergraph } from "./composers.ts";
import {
  DATASETS,
  FEDERATION,
  JOB_BOARD,
  MODEL_REGISTRY,
  NOTES,
  REVIEWS,
  startRungraph,
} from "./subgraphs.ts";

const registry = { name: "model-registry", url: "http://models.test", sdl: MODEL_REGISTRY };
const notes = { name: "notes", url: "http://notes.test", sdl: NOTES };
const reviews = { name: "reviews", url: "http://reviews.test", sdl: REVIEWS };
const datasets = { name: "datasets", url: "http://datasets.test", sdl: DATASETS };
const jobBoard = { name: "job-board", url: "http://jobs.test", sdl: JOB_BOARD };

const ofFields = 'Non-shareable field "Query.job" is resolved from multiple subgraphs';

const composers = [
  {
    name: "@apollo/composition",
    compose: withApollo,
    clash: { ofKinds: "Cannot implement non-interface type Node", ofFields },
  },
  {
    name: "@theguild/federation-composition",
    compose: withGuild,
    clash: {
      ofKinds:
        'Type "Node" has mismatched kind: it is defined as Object Type in subgraph "a-rungraph" but Interface Type in subgraph "datasets"',
      ofFields,
    },
  },
  {
    name: "@wundergraph/composition",
    compose: withWundergraph,
    clash: {
      ofKinds: '"Node" is defined using incompatible types across subgraphs',
      ofFields: 'The field "job" is defined in the following subgraphs: "a-rungraph", "job-board"',
    },
  },
];

describe.each(everyNth(composers, 3, 0))("$name", ({ compose, clash }) => {
  /** The subgraph with renamed types, composed with another subgraph. */
  const composeAs = async (TYPE_NAMES: string, other: typeof notes) =>
    compose([await startRungraph({ TYPE_NAMES }), other, registry, notes]);

  test("lets subgraphs add fields to experiments and all runs by key", async () => {
    const rungraph = await startRungraph();
    const { problems, schema, sources } = compose([rungraph, registry, notes, reviews]);
    expect(problems).toEqual([]);
    const having = (field: string) =>
      ["Run", "Experiment", "Job", "BuildJob", "Group", "ExperimentJob", "Project", "Node"].filter((type) =>
        fieldsOf(schema, type).has(field),
      );
    expect(having("notes")).toEqual(["Run", "Experiment", "Job", "BuildJob", "Group"]);
    expect(having("review")).toEqual(["Run", "Experiment", "Job", "BuildJob", "Group"]);
    expect(having("models")).toEqual(["Experiment"]);
    const withStatus = ["Run", "Experiment", "Job", "BuildJob", "Group", "ExperimentJob", "Node"];
    expect(having("status")).toEqual(withStatus);
    expect({
      status: sources("Experiment", "status"),
      models: sources("Experiment", "models"),
      notes: sources("Run", "notes"),
    }).toEqual({
      status: ["a-rungraph"],
      models: ["model-registry"],
      notes: ["notes"],
    });
  });

  test("composes the fields that the documentation adds to experiments and runs", async () => {
    const added = readPage("docs/federation.md").blocks.filter(({ text }) => /^type .* @key/.test(text));
    const others = added.map(({ text, line }) => {
      const sdl = `${FEDERATION} type Query { of${line}: [Model!] } type Model @key(fields: "name") { name: ID! } ${text}`;
      return { name: `line-${line}`, url: `http://line-${line}.test`, sdl };
    });
    const { problems, schema } = compose([await startRungraph(), ...others]);
    expect(problems).toEqual([]);
    expect(fieldsOf(schema, "Experiment").has("models")).toBe(true);
    expect(fieldsOf(schema, "Job").has("notes")).toBe(true);
  });

  test("composes another subgraph's Relay Node only after ours is renamed", async () => {
    const asNamed = compose([await startRungraph(), datasets]);
    expect(asNamed.problems[0]).toContain(clash.ofKinds);
    const renamed = await composeAs("Node=ClusterNode,Entity=Node", datasets);
    expect(renamed.problems).toEqual([]);
    expect(fieldsOf(renamed.schema, "ClusterNode").has("memory")).toBe(true);
    expect([...fieldsOf(renamed.schema, "Node").keys()]).toEqual(["id"]);
    const roots = fieldsOf(renamed.schema, "Query");
    expect(
      ["node", "nodes", "clusterNode", "entity", "entities"].filter((field) => roots.has(field)),
    ).toEqual(["node", "nodes", "clusterNode"]);
  });

  test("composes another subgraph's jobs only after ours are renamed", async () => {
    const asNamed = compose([await startRungraph(), jobBoard]);
    expect(asNamed.problems[0]).toContain(clash.ofFields);
    const renamed = await composeAs("Job=TrainingJob", jobBoard);
    expect(renamed.problems).toEqual([]);
    expect([...fieldsOf(renamed.schema, "Job").keys()]).toEqual(["id", "title"]);
    expect(fieldsOf(renamed.schema, "TrainingJob").has("notes")).toBe(true);
    expect(renamed.sources("Query", "job")).toEqual(["job-board"]);
    expect(renamed.sources("Query", "trainingJob")).toEqual(["a-rungraph"]);
  });

  test("silently merges our jobs and another subgraph's jobs without conflicting root fields", async () => {
    const sdl = JOB_BOARD.replace("job(id: ID!)", "vacancy(id: ID!)");
    const { problems, sources } = compose([await startRungraph(), { ...jobBoard, sdl }]);
    expect(problems).toEqual([]);
    expect([sources("Job", "title"), sources("Job", "status")]).toEqual([["job-board"], ["a-rungraph"]]);
  });
});

test("Cosmo's router receives the keys, the entity interface and its concrete types", async () => {
  const federated = federate([await startRungraph(), registry, notes]);
  if (!federated.success) throw new TypeError(federated.errors.join("\n"));
  const settingsOf = (subgraph: string, type: string) => {
    const settings = federated.subgraphConfigBySubgraphName
      .get(subgraph)
      ?.configurationDataByTypeName.get(type);
    return {
      keys: settings?.keys?.map(({ selectionSet }) => selectionSet),
      behind: settings?.entityInterfaceConcreteTypeNames,
      isInterfaceObject: settings?.isInterfaceObject,
    };
  };
  expect(settingsOf("a-rungraph", "Experiment").keys).toEqual(["id", "uniqueName", "reference"]);
  expect(settingsOf("a-rungraph", "User").keys).toEqual(["id", "username"]);
  expect(settingsOf("a-rungraph", "Run")).toEqual({
    keys: ["id", "reference"],
    behind: new Set(["Experiment", "Job", "BuildJob", "Group"]),
    isInterfaceObject: false,
  });
  expect(settingsOf("notes", "Run")).toMatchObject({ keys: ["id"], isInterfaceObject: true });
});
