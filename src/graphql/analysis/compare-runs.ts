import { isDeepStrictEqual } from "node:util";
import { InputError, UpstreamError } from "../../errors.ts";
import { isObject } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { shown } from "../core/fields.ts";
import { identify } from "../core/ids.ts";
import { Experiment } from "../core/refs.ts";
import { load, unverified } from "../core/resource.ts";
import { finite } from "../types/series.ts";

/* Several experiments side by side. */

type ExperimentResource = typeof Experiment.$inferType;

/** A value of each run, in the order of the runs. */
interface Compared {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly differs: boolean;
}

interface Comparison {
  readonly runs: readonly ExperimentResource[];
  readonly origin: readonly Compared[];
  readonly parameters: readonly Compared[];
  readonly metrics: readonly Compared[];
}

const ComparedValues = builder.objectRef<Compared>("ComparedValues").implement({
  description: "Something of several runs, side by side.",
  fields: (t) => ({
    name: t.string({ nullable: false, description: "Name.", ...shown("name") }),
    values: t.field({
      type: ["JSON"],
      nullable: { list: false, items: true },
      description: "Value of each run, in the order of `runs`. Null where it has none.",
      ...shown("values"),
    }),
    differs: t.boolean({ nullable: false, description: "Whether the values differ.", ...shown("differs") }),
  }),
});

const RunComparison = builder.objectRef<Comparison>("RunComparison").implement({
  description: "Several experiments side by side.",
  fields: (t) => ({
    runs: t.field({
      type: [Experiment],
      nullable: false,
      description: "The experiments, in the order of `ids`.",
      ...shown("runs"),
    }),
    origin: t.field({
      type: [ComparedValues],
      nullable: false,
      description:
        "Where they came from: `user`, `experimentGroup`, `original`, `buildJob`, `framework`, `tags`, as the service names them.",
      ...shown("origin"),
    }),
    parameters: t.field({
      type: [ComparedValues],
      nullable: false,
      description: "Parameters, ordered by name.",
      ...shown("parameters"),
    }),
    metrics: t.field({
      type: [ComparedValues],
      nullable: false,
      description: "Latest metrics, ordered by name. Null where a value is no finite number.",
      ...shown("metrics"),
    }),
  }),
});

type Values = Readonly<Record<string, unknown>>;

/** The keys of the record that tell where a run came from, by the names of their fields. */
const ORIGIN = {
  user: "user",
  experimentGroup: "experiment_group",
  original: "original",
  buildJob: "build_job",
  framework: "framework",
  tags: "tags",
} as const satisfies Record<string, keyof ExperimentRecord>;

const KEYS = [...Object.values(ORIGIN), "declarations", "last_metric"] as const;

function sideBySide(
  rows: readonly Values[],
  onlyDifferences: boolean,
  valueOf: (raw: unknown) => unknown = (raw) => raw ?? null,
): Compared[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  return [...names].flatMap((name) => {
    const values = rows.map((row) => (Object.hasOwn(row, name) ? valueOf(row[name]) : null));
    const differs = values.some((value) => !isDeepStrictEqual(value, values[0]));
    return differs || !onlyDifferences ? [{ name, values, differs }] : [];
  });
}

const byName = (compared: readonly Compared[]) =>
  compared.toSorted((one, other) => (one.name < other.name ? -1 : 1));

/** Reads one of the runs. An error tells which, as `extensions.reference`. */
async function loadNamed(run: ExperimentResource, session: Context["session"]) {
  try {
    return await load(unverified(run), KEYS, session);
  } catch (error) {
    throw error instanceof UpstreamError ? error.of(Experiment.kind.formatName(run.address)) : error;
  }
}

const valuesIn = (raw: unknown): Values => (isObject(raw) ? raw : {});

builder.queryFields((t) => ({
  compareRuns: t.field({
    type: RunComparison,
    description:
      "Parameters, latest metrics and origin of several experiments, side by side. Null with an error if one of them cannot be loaded. Costs a request for each, or one list for many of a project where the server finds runs by ids.",
    args: {
      ids: t.arg.idList({
        required: true,
        description: `Global ids, or unique names such as \`${Experiment.kind.exampleName}\`: 1 to ${MAX_IDS}.`,
      }),
      onlyDifferences: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: "Whether what is the same in all of them is left out.",
      }),
    },
    resolve: async (_, { ids, onlyDifferences }, { session, names }) => {
      if (ids.length < 1 || ids.length > MAX_IDS)
        throw new InputError(`ids: expected 1 to ${MAX_IDS} ids, got ${ids.length}`);
      const named = ids.map((id, index) => identify(Experiment.kind, `ids[${index}]`, id, names));
      const runs = await Promise.all(
        named.map(async (run) => ({ ...run, loaded: await loadNamed(run, session) })),
      );
      const origins = runs.map(({ loaded }) =>
        Object.fromEntries(Object.entries(ORIGIN).map(([name, key]) => [name, loaded[key] ?? null])),
      );
      return {
        runs,
        origin: sideBySide(origins, onlyDifferences),
        parameters: byName(
          sideBySide(
            runs.map(({ loaded }) => valuesIn(loaded.declarations)),
            onlyDifferences,
          ),
        ),
        metrics: byName(
          sideBySide(
            runs.map(({ loaded }) => valuesIn(loaded.last_metric)),
            onlyDifferences,
            finite,
          ),
        ),
      };
    },
  }),
}));
