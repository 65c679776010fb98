import { expect, test } from "vitest";
import { PROJECT, row, startExports } from "../support/exported.ts";
import { findPython, runPython } from "../support/python.ts";
import { seeded } from "../support/seeded.ts";

const python = findPython("pandas");
if (python === null)
  process.stdout.write("\nNOT RUN: exports read by pandas, for want of a Python with it.\n\n");

const READ = `
import json, sys
import pandas as pd

options = {"storage_options": {"authorization": "token t0ken"}}
if ".csv" in sys.argv[1]:
    frame = pd.read_csv(sys.argv[1], float_precision="round_trip", **options)
else:
    frame = pd.read_json(sys.argv[1], lines=True, convert_dates=False, precise_float=True, **options)
rows = frame.astype(object).where(frame.notna(), None).values.tolist()
print(json.dumps({"columns": list(frame.columns), "rows": rows}))
`;

interface Frame {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

// Safe: the script prints it.
const read = async (url: string) => JSON.parse(await runPython(python ?? "", READ, [url])) as Frame;

const TEXTS = ["a", 'say "hi"', "a, b", "two\r\nlines", "ä ☃", "'", " x "];

test.skipIf(python === null).each(["csv", "ndjson"])(
  "pandas reads random runs as they are: %s",
  async (format) => {
    const random = seeded(27);
    const rows = Array.from({ length: 300 }, (_, index) =>
      row(index + 1, {
        created_at: "2026-01-01T00:00:00Z",
        declarations: {
          lr: random() * 10 ** Math.floor(random() * 12 - 6),
          layers: Math.floor(random() * 100),
          note: TEXTS[Math.floor(random() * TEXTS.length)],
        },
        last_metric: random() < 0.2 ? {} : { loss: -random() },
      }),
    );
    const { url } = await startExports(rows, { MAX_PAGE_SIZE: "70" });
    const columns = "uniqueName,param.lr,param.layers,param.note,metric.loss";
    const frame = await read(`${url}/export/${PROJECT}/runs.${format}?columns=${columns}`);
    expect(frame).toEqual({
      columns: columns.split(","),
      rows: rows.map(({ unique_name, ...each }) => {
        // Safe: these are the keys of the rows above.
        const { declarations, last_metric } = each as never as Record<string, Record<string, unknown>>;
        const { lr, layers, note } = declarations ?? {};
        return [unique_name, lr, layers, note, last_metric?.["loss"] ?? null];
      }),
    });
  },
);
