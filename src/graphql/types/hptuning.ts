import type { HptuningRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";

type Scalar = string | number | boolean;
interface Values {
  readonly values: readonly Scalar[];
}
interface Linspace {
  readonly num: number | null;
  readonly start: number | null;
  readonly stop: number | null;
}
interface Other {
  readonly raw: unknown;
}
type Definition = Values | Linspace | Other;

const MatrixValues = builder.objectRef<Values>("MatrixValues").implement({
  description: "A fixed set of values.",
  fields: (t) => ({
    values: t.field({
      type: ["ParameterValue"],
      nullable: false,
      description: "The values.",
      resolve: ({ values }) => values,
    }),
  }),
});

const MatrixLinspace = builder.objectRef<Linspace>("MatrixLinspace").implement({
  description: "Evenly spaced numbers.",
  fields: (t) => ({
    num: t.exposeInt("num", { nullable: true, description: "Number of values." }),
    start: t.exposeFloat("start", { nullable: true, description: "First number." }),
    stop: t.exposeFloat("stop", { nullable: true, description: "Last number." }),
  }),
});

const MatrixOther = builder.objectRef<Other>("MatrixOther").implement({
  description: "A form that this schema does not know.",
  fields: (t) => ({
    raw: t.field({ type: "JSON", description: "As received.", resolve: ({ raw }) => raw }),
  }),
});

const MatrixDefinition = builder.unionType("MatrixDefinition", {
  description: "Values of a searched parameter. Members can be added in a minor release.",
  types: [MatrixValues, MatrixLinspace, MatrixOther],
  resolveType: (definition) =>
    "values" in definition ? "MatrixValues" : "num" in definition ? "MatrixLinspace" : "MatrixOther",
});

const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);
const numberOf = (value: unknown, fits: (value: unknown) => boolean): number | null =>
  typeof value === "number" && fits(value) ? value : null;

/** One of the documented formats, or the value as received. */
function definitionOf(raw: unknown): Definition {
  if (typeof raw !== "object" || raw === null) return { raw };
  const { values, linspace } = raw as { values?: unknown; linspace?: unknown };
  if (Array.isArray(values) && values.every(isScalar)) return { values };
  if (typeof linspace === "object" && linspace !== null && !Array.isArray(linspace)) {
    const { num, start, stop } = linspace as Record<"num" | "start" | "stop", unknown>;
    return {
      num: numberOf(num, isInt32),
      start: numberOf(start, Number.isFinite),
      stop: numberOf(stop, Number.isFinite),
    };
  }
  return { raw };
}

const isInt32 = (value: unknown) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;

interface Parameter {
  readonly name: string;
  readonly definition: Definition;
}

const MatrixParameter = builder.objectRef<Parameter>("MatrixParameter").implement({
  description: "A searched parameter.",
  fields: (t) => ({
    name: t.exposeString("name", { nullable: false, description: "Name of the parameter." }),
    definition: t.field({
      type: MatrixDefinition,
      nullable: false,
      description: "Its values.",
      resolve: ({ definition }) => definition,
    }),
  }),
});

const RandomSearch = builder
  .objectRef<NonNullable<HptuningRecord["known"]["random_search"]>>("RandomSearch")
  .implement({
    description: "Settings of a random search.",
    fields: (t) => ({
      experimentCount: t.int({
        description: "Number of experiments.",
        resolve: ({ n_experiments }) => n_experiments ?? null,
      }),
    }),
  });

export const HyperparameterTuning = builder.objectRef<HptuningRecord>("HyperparameterTuning").implement({
  description: "Settings of a hyperparameter search.",
  fields: (t) => ({
    earlyStopping: t.field({
      type: "JSON",
      description: "Rules of early stopping.",
      resolve: ({ known }) => known.early_stopping ?? null,
    }),
    concurrency: t.int({
      description: "Experiments that may run at a time.",
      resolve: ({ known }) => known.concurrency ?? null,
    }),
    seed: t.field({ type: "JSON", description: "Random seed.", resolve: ({ known }) => known.seed ?? null }),
    matrix: t.field({
      type: [MatrixParameter],
      description: "Searched parameters, by name.",
      resolve: ({ known }) =>
        known.matrix
          ? Object.entries(known.matrix)
              .toSorted(byName)
              .map(([name, raw]) => ({ name, definition: definitionOf(raw) }))
          : null,
    }),
    randomSearch: t.field({
      type: RandomSearch,
      description: "Settings of a random search.",
      resolve: ({ known }) => known.random_search ?? null,
    }),
    raw: t.field({ type: "JSON", description: "All of it, as received.", resolve: ({ raw }) => raw }),
  }),
});

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) =>
  a < b ? -1 : a > b ? 1 : 0;
