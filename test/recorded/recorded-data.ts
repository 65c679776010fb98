import { type FieldNode, parse, print, type SelectionSetNode } from "graphql";
import { expect } from "vitest";
import { globalId } from "../support/ids.ts";

export type Row = Readonly<Record<string, unknown>>;

/** Keys of responses that differ from the names of the fields. */
const KEYS: Readonly<Record<string, string>> = {
  buildJobCount: "num_builds",
  experimentCount: "num_experiments",
  gpuCount: "n_gpus",
  groupCount: "num_experiment_groups",
  isBookmarked: "bookmarked",
  jobCount: "num_jobs",
  latestMetrics: "last_metric",
  parameters: "declarations",
  limit: "limits",
  request: "requests",
  url: "git_url",
};

const keyOf = (field: string): string =>
  KEYS[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const SOME_TEXT: unknown = expect.any(String);

type Below = (row: Row) => Row;

/** A nested object in a record; null if there is none. */
const innerOf =
  (key: string) =>
  ({ [key]: inner }: Row, below: Below) =>
    inner ? below(inner as Row) : null;

/** Fields that need more than the value of a key. Rows are objects, and each list here is a list in every recording. */
const DERIVED: Readonly<Record<string, (row: Row, below: Below, node: FieldNode) => unknown>> = {
  id: ({ unique_name: name }) => globalId(`Project:${String(name).replace(".", "/")}`),
  internalId: ({ id }) => `${id}`,
  rawStatus: ({ last_status: last, status }) => last ?? status,
  config: ({ config }, below) => below({ ...(config as Row), raw: config }),
  resources: ({ resources }, below) => (resources ? below({ ...(resources as Row), raw: resources }) : null),
  cpuCores: innerOf("cpu"),
  memoryMiB: innerOf("memory"),
  gpus: innerOf("gpu"),
  totalCount: ({ count }) => count,
  pageInfo: (page, below) => below(page),
  hasNextPage: ({ next }) => next !== null,
  hasPreviousPage: ({ previous }) => previous !== null,
  endCursor: ({ results }) => ((results as Row[]).length > 0 ? SOME_TEXT : null),
  nodes: ({ results, nodes }, below) =>
    ((results ?? nodes) as Row[]).map(({ content_object: kept, ...row }) =>
      // The items of bookmarks lack `bookmarked`, which is true for them.
      below(kept ? { ...(kept as Row), bookmarked: true } : row),
    ),
  entities: ({ results }, below, node) =>
    [...print(node).matchAll(/\.(\d+)"/g)].map(([, id]) =>
      below((results as Row[]).find((row) => `${row["id"]}` === id) ?? {}),
    ),
  results: (record, below) => [below(record)],
  folders: ({ dirs }) => (dirs as string[]).map((name) => ({ name })),
  // The recorded folders are those at the top level.
  files: ({ files }) => (files as [string, number][]).map(([name, bytes]) => ({ name, path: name, bytes })),
};

/** The data of a document when the service responds with a recorded body. */
export function dataOf(document: string, answer: Row): Row {
  const { definitions } = parse(document);
  const [operation, ...fragments] = definitions.flatMap((each) => ("selectionSet" in each ? [each] : []));
  const fieldsIn = ({ selections }: SelectionSetNode): FieldNode[] =>
    selections.flatMap((node) => {
      if (node.kind === "Field") return [node];
      const named = node.kind === "FragmentSpread" ? node.name.value : null;
      const set = node.kind === "InlineFragment" ? node : fragments.find(({ name }) => name?.value === named);
      return set ? fieldsIn(set.selectionSet) : [];
    });

  const valueOf = (node: FieldNode, row: Row): unknown => {
    const { selectionSet, name } = node;
    const below = (given: Row) => (selectionSet ? reported(selectionSet, given) : {});
    const derived = DERIVED[name.value];
    if (derived) return derived(row, below, node);
    const value = row[keyOf(name.value)] ?? null;
    if (!selectionSet) return value;
    if (!(keyOf(name.value) in row)) return below(row);
    if (value === null) return null;
    const [first = "", second = ""] = fieldsIn(selectionSet).map((field) => field.name.value);
    // A reference is represented by its name, and named values are sorted.
    if (typeof value !== "object") return { [first]: value };
    return Object.entries(value)
      .map(([each, of]) => ({ [first]: each, [second]: of as unknown }))
      .toSorted((a, b) => (String(a[first]) < String(b[first]) ? -1 : 1));
  };
  const reported = (set: SelectionSetNode, row: Row): Row =>
    Object.fromEntries(
      fieldsIn(set).map((node) => [node.alias?.value ?? node.name.value, valueOf(node, row)]),
    );
  return operation ? reported(operation.selectionSet, answer) : {};
}
