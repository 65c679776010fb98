import { expect, test } from "vitest";
import { row } from "../support/exported.ts";
import { pageOf } from "../support/fake.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";
import { findPython, runPython } from "../support/python.ts";
import { seeded } from "../support/seeded.ts";

const python = findPython("pandas");
if (python === null)
  process.stdout.write("\nNOT RUN: figures compared with pandas, for want of a Python with it.\n\n");

const COMPUTE = `
import json, sys
import pandas as pd

frame = pd.DataFrame(json.loads(sys.argv[1]))
def figures(loss):
    return [int(loss.count()), loss.mean(), loss.std(), loss.min(), loss.max(), loss.median()]
groups = {f"{float(lr)}": figures(rows.loss) for lr, rows in frame.groupby("lr")}
correlation = frame[["lr", "noise", "loss"]].rank().corr()["loss"]
print(json.dumps({"all": figures(frame.loss), "groups": groups, "lr": correlation.lr, "noise": correlation.noise}))
`;

interface Figures {
  readonly all: readonly number[];
  readonly groups: Readonly<Record<string, readonly number[]>>;
  readonly lr: number;
  readonly noise: number;
}

interface Statistics {
  readonly count: number;
  readonly mean: number;
  readonly standardDeviation: number;
  readonly min: number;
  readonly max: number;
  readonly median: number;
}

interface Answer {
  readonly project: {
    readonly experiments: {
      readonly summary: {
        readonly metrics: readonly Statistics[];
        readonly groups: readonly {
          readonly values: readonly { readonly value: number }[];
          readonly metrics: readonly Statistics[];
        }[];
        readonly importance: readonly { readonly name: string; readonly correlation: number }[];
      };
    };
  };
}

const STATISTICS = "count mean standardDeviation min max median";
const listed = (of: Statistics) => [of.count, of.mean, of.standardDeviation, of.min, of.max, of.median];

test.skipIf(python === null).each([1, 2, 3])(
  "figures of random runs are those of pandas: %d",
  async (seed) => {
    const random = seeded(seed);
    // Close together around a large number: naive sums would lose the digits.
    const runs = Array.from({ length: 300 }, () => ({
      lr: [0.1, 0.01, 0.001][Math.floor(random() * 3)] ?? 0,
      noise: Math.floor(random() * 40),
      loss: 1e6 + random(),
    }));
    const rows = runs.map(({ loss, ...declarations }, index) =>
      row(index + 1, { created_at: "2026-01-01T00:00:00Z", declarations, last_metric: { loss } }),
    );
    const { ask } = await startBefore((seen) => pageOf(rows, seen), RELEASE_04);
    // Safe: these fields are asked for.
    const { data } = (await ask(`{ project(id: "ada.mnist") { experiments { summary {
    metrics { ${STATISTICS} }
    groups(by: ["lr"]) { values { value } metrics { ${STATISTICS} } }
    importance(metric: "loss") { name correlation }
  } } } }`)) as { data: Answer };
    const { metrics, groups, importance } = data.project.experiments.summary;
    // Safe: the script prints it.
    const expected = JSON.parse(await runPython(python ?? "", COMPUTE, [JSON.stringify(runs)])) as Figures;
    const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 9) as number);
    expect(metrics.map(listed)).toEqual([close(expected.all)]);
    const found = groups.map(({ values, metrics: [own] }) => [`${values[0]?.value}`, own ? listed(own) : []]);
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(expected.groups).map(([lr, figures]) => [lr, close(figures)])),
    );
    const correlations = Object.fromEntries(importance.map(({ name, correlation }) => [name, correlation]));
    expect(correlations).toEqual({
      lr: expect.closeTo(expected.lr, 9),
      noise: expect.closeTo(expected.noise, 9),
    });
  },
);
