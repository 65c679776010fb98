import fc from "fast-check";
import { expect, test } from "vitest";
import { measure } from "../../demo/simulation.ts";
import { cases } from "../support/cases.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf } from "../support/errors.ts";

type Values = readonly { readonly name: string; readonly value: number }[];

const ACTS = ["bookmark", "unbookmark", "stop", "restart", "resume", "copy"] as const;

/** One action, or a pause. `run` selects one of the known runs. */
type Step =
  | { readonly act: (typeof ACTS)[number] | "delete"; readonly run: number }
  | { readonly act: "record"; readonly run: number; readonly values: Values }
  | { readonly act: "update"; readonly run: number; readonly description: string | null }
  | { readonly act: "wait"; readonly milliseconds: number };

const run = fc.nat({ max: 9 });
const value = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
);
const values = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("loss", "accuracy", "val/loss @ 5", "größe", "__proto__", "constructor"),
    value,
  }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ act: fc.constantFrom(...ACTS), run }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("delete"), run }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("record"), run, values }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("update"),
      run,
      description: fc.option(fc.string({ unit: "grapheme", maxLength: 12 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("wait"),
      milliseconds: fc.oneof(fc.constantFrom(2_000, 4_000, 12_000, 14_000, 40_000), fc.nat({ max: 45_000 })),
    }),
  },
);

/** The visible fields of an experiment. */
interface Shown {
  readonly uniqueName: string;
  readonly description: string | null;
  readonly isBookmarked: boolean;
  readonly rawStatus: string;
  readonly original: { readonly uniqueName: string } | null;
  readonly latestMetrics: Values;
  readonly metrics: { readonly totalCount: number };
}

const STATE =
  "uniqueName description isBookmarked rawStatus original { uniqueName } latestMetrics { name value } metrics { totalCount }";

/** An experiment in the model: its visible fields, and its planned status changes. */
interface Modelled {
  shown: Shown;
  plan: readonly Happening[];
}
type Happening = { readonly at: number } & (
  | { readonly rawStatus: string }
  | { readonly latestMetrics: Values }
);

const byName = (given: Values): Values => given.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The statuses of a started run: seconds after its creation. */
const COURSE: readonly (readonly [after: number, rawStatus: string])[] = [
  [4, "scheduled"],
  [8, "starting"],
  [12, "running"],
  [40, "succeeded"],
];
const FIRST_EPOCH = 14;
const EPOCHS = 13;
const EPOCH = 2;
/** The declarations of the original experiments that affect the measured values. */
const DECLARATIONS: Readonly<Record<string, Parameters<typeof measure>[1]>> = {
  "ada.mnist.42": { lr: 0.021, dropout: 0.25, activation: "relu" },
  "ada.mnist.3": { lr: 0.02, dropout: 0 },
};
/** The greatest id of an experiment in a new demo. */
const LAST_ID = 60;

/** A model of the demo. Its input is the experiments at the start. */
function createModel(found: readonly Shown[]) {
  const runs = new Map<string, Modelled>(found.map((shown) => [shown.uniqueName, { shown, plan: [] }]));
  const roots = new Map<string, string>(found.map(({ uniqueName }) => [uniqueName, uniqueName]));
  let now = 0;
  let lastId = LAST_ID;

  const change = (modelled: Modelled, changed: Partial<Shown>) => {
    modelled.shown = { ...modelled.shown, ...changed };
  };
  const measured = ({ shown }: Modelled, recorded: Values) => ({
    latestMetrics: byName([
      ...new Map([...shown.latestMetrics, ...recorded].map((each) => [each.name, each])).values(),
    ]),
    metrics: { totalCount: shown.metrics.totalCount + 1 },
  });

  /** Creates a new run from another and starts it. */
  function clone(source: Modelled): Modelled {
    const id = ++lastId;
    const uniqueName = `ada.mnist.${id}`;
    const root = roots.get(source.shown.uniqueName) ?? "";
    const epochs = Array.from({ length: EPOCHS }, (_, epoch) => ({
      at: now + (FIRST_EPOCH + epoch * EPOCH) * 1_000,
      latestMetrics: Object.entries(measure(id, DECLARATIONS[root] ?? null, epoch)).map(([name, number]) => ({
        name,
        value: number,
      })),
    }));
    const statuses = COURSE.map(([after, rawStatus]) => ({ at: now + after * 1_000, rawStatus }));
    const made: Modelled = {
      shown: {
        uniqueName,
        description: source.shown.description,
        isBookmarked: false,
        rawStatus: "created",
        original: { uniqueName: source.shown.uniqueName },
        latestMetrics: [],
        metrics: { totalCount: 0 },
      },
      plan: [...statuses, ...epochs].toSorted((a, b) => a.at - b.at),
    };
    runs.set(uniqueName, made);
    roots.set(uniqueName, root);
    return made;
  }

  /** Advances the clock. */
  function wait(milliseconds: number): void {
    now += milliseconds;
    for (const modelled of runs.values()) {
      const due = modelled.plan.filter(({ at }) => at <= now);
      modelled.plan = modelled.plan.filter(({ at }) => at > now);
      for (const { at: _, ...happening } of due)
        change(modelled, "rawStatus" in happening ? happening : measured(modelled, happening.latestMetrics));
    }
  }

  function stop(modelled: Modelled): void {
    if (modelled.shown.rawStatus === "stopping" || modelled.shown.rawStatus === "stopped") return;
    change(modelled, { rawStatus: "stopping" });
    modelled.plan = [{ at: now + 2_000, rawStatus: "stopped" }];
  }

  function remove(modelled: Modelled): null {
    const { uniqueName } = modelled.shown;
    runs.delete(uniqueName);
    for (const other of runs.values())
      if (other.shown.original?.uniqueName === uniqueName) change(other, { original: null });
    return null;
  }

  /** Applies an action to a run. Returns the run that is shown afterwards, or null. */
  function act(modelled: Modelled, taken: Exclude<Step, { act: "wait" }>): Modelled | null {
    if (taken.act === "delete") return remove(modelled);
    if (taken.act === "restart" || taken.act === "resume" || taken.act === "copy") return clone(modelled);
    if (taken.act === "stop") stop(modelled);
    if (taken.act === "bookmark") change(modelled, { isBookmarked: true });
    if (taken.act === "unbookmark") change(modelled, { isBookmarked: false });
    if (taken.act === "update") change(modelled, { description: taken.description });
    if (taken.act === "record") change(modelled, measured(modelled, taken.values));
    return modelled;
  }

  return { runs, wait, act };
}

/** A name that only an experiment can have. */
const referenceTo = (name: string): string => name.replace(/\.(\d+)$/, ".experiments.$1");

const SHOWN = `experiment { ${STATE} }`;

/** The mutation of an action, and its variables except the id. */
function mutationOf(taken: Exclude<Step, { act: "wait" }>): [text: string, variables: object] {
  const { act } = taken;
  if (act === "delete") return ["($id: ID!) { done: deleteExperiment(id: $id) { deletedId } }", {}];
  if (act === "update") {
    const update = `updateExperiment(id: $id, input: $input) { ${SHOWN} }`;
    const input = { description: taken.description };
    return [`($id: ID!, $input: UpdateRunInput!) { done: ${update} }`, { input }];
  }
  if (act === "record") {
    const record = `createExperimentMetrics(id: $id, records: [$input]) { results { code metric { ${SHOWN} } } }`;
    const input = { values: taken.values };
    return [`($id: ID!, $input: MetricRecordInput!) { done: ${record} }`, { input }];
  }
  if (act === "bookmark" || act === "unbookmark") {
    const bookmark = `bookmarkRuns(ids: [$id], isBookmarked: ${act === "bookmark"})`;
    return [`($id: ID!) { done: ${bookmark} { results { run { ... on Experiment { ${STATE} } } } } }`, {}];
  }
  const more = act === "stop" ? ", force: true" : "";
  return [`($id: ID!) { done: ${act}Experiment(id: $id${more}) { ${SHOWN} } }`, {}];
}

/** Starts a demo with a fake clock, and a gateway in front of it. */
async function openFixture() {
  let now = Date.parse("2026-06-01T12:00:00Z");
  const { ask } = await startDemoGateway({ now: () => now, env: { UPSTREAM_RETRIES: "0" } });
  return {
    ask,
    wait: (milliseconds: number) => void (now += milliseconds),
    /** The state of experiments by name; null for missing ones. */
    stateOf: async (names: readonly string[]): Promise<readonly (Shown | null)[]> => {
      const fields = names.map((name, index) => `a${index}: experiment(id: "${name}") { ${STATE} }`);
      // Safe: every field is an experiment's state.
      const { data } = await ask<Record<string, Shown | null>, object>(`{ ${fields.join(" ")} }`);
      return Object.values(data);
    },
  };
}

test("the gateway matches a small model after random commands in any order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const fixture = await openFixture();
      const names = ["ada.mnist.42", "ada.mnist.3"];
      const model = createModel((await fixture.stateOf(names)).flatMap((shown) => shown ?? []));
      expect(model.runs.size).toBe(2);

      for (const taken of steps) {
        if (taken.act === "wait") {
          fixture.wait(taken.milliseconds);
          model.wait(taken.milliseconds);
          continue;
        }
        const id = names[taken.run % names.length] ?? "";
        const [mutation, variables] = mutationOf(taken);
        const answer = await fixture.ask<unknown, object>(`mutation ${mutation}`, {
          id: referenceTo(id),
          ...variables,
        });
        const modelled = model.runs.get(id);
        const after = modelled && model.act(modelled, taken);
        if (after && !names.includes(after.shown.uniqueName)) names.push(after.shown.uniqueName);
        const experiment = after && { experiment: after.shown };
        const isOfSeveral = ["bookmark", "unbookmark", "record"].includes(taken.act);
        const ofSeveral =
          taken.act === "record"
            ? { results: [{ code: modelled ? null : "NOT_FOUND", metric: experiment ?? null }] }
            : { results: [{ run: after?.shown ?? null }] };
        const shown = isOfSeveral ? ofSeveral : experiment;
        const deleted = { deletedId: expect.any(String) };
        expect([answer.data, ...codesOf(answer)]).toEqual(
          modelled || isOfSeveral
            ? [{ done: after || isOfSeveral ? shown : deleted }]
            : [{ done: null }, "NOT_FOUND"],
        );
      }
      expect(await fixture.stateOf(names)).toEqual(names.map((name) => model.runs.get(name)?.shown ?? null));
    }),
    { numRuns: cases(8, 80) },
  );
});
