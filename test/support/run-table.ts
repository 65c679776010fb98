/** A run in a table; times are numbers, null until it starts and ends. */
export interface TableRun {
  readonly id: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly loss: number | null;
}

type Column = Exclude<keyof TableRun, "id">;

const COLUMNS: ReadonlyMap<string, Column> = new Map([
  ["created_at", "created_at"],
  ["updated_at", "updated_at"],
  ["started_at", "started_at"],
  ["finished_at", "finished_at"],
  ["metric.loss", "loss"],
]);

/**
 * Runs as a database lists them: null is the largest value, keys that are none are passed over, and runs that are equal by all keys
 * come in another order each time.
 */
export class RunTable {
  readonly runs = new Map<number, TableRun>();
  #time = 1_000;
  #answers = 0;

  /** Adds a run now: no two are created at the same time. */
  create(id: number): void {
    const now = ++this.#time;
    this.runs.set(id, {
      id,
      created_at: now,
      updated_at: now,
      started_at: null,
      finished_at: null,
      loss: null,
    });
  }

  /** One page, as the parameters of its request say. */
  page(parameters: URLSearchParams) {
    const sort = parameters.get("sort") ?? "-updated_at";
    const keys = sort.split(",").flatMap((key) => {
      const column = COLUMNS.get(key.replace("-", ""));
      return column ? [{ column, sign: key.startsWith("-") ? -1 : 1 }] : [];
    });
    const hasLoss = parameters.get("query")?.includes("metric.loss:>=") ?? false;
    const seed = ++this.#answers;
    const found = [...this.runs.values()]
      .filter(({ loss }) => !hasLoss || loss !== null)
      .toSorted((a, b) => {
        for (const { column, sign } of keys) {
          const [left, right] = [a[column] ?? Infinity, b[column] ?? Infinity];
          if (left !== right) return left < right ? -sign : sign;
        }
        return scattered(a.id, seed) - scattered(b.id, seed);
      });
    const offset = Number(parameters.get("offset") ?? 0);
    const limit = Number(parameters.get("limit") ?? 20);
    return {
      count: found.length,
      next: null,
      results: found.slice(offset, offset + limit).map((run) => ({
        id: run.id,
        unique_name: `ada.mnist.${run.id}`,
        created_at: stamp(run.created_at),
        updated_at: stamp(run.updated_at),
        started_at: stamp(run.started_at),
        finished_at: stamp(run.finished_at),
        last_metric: run.loss === null ? {} : { loss: run.loss },
      })),
    };
  }
}

const stamp = (time: number | null) => (time === null ? null : new Date(time).toISOString());

const scattered = (id: number, seed: number) => ((id * 7_919 + seed * 104_729) * 31) % 1_009;
