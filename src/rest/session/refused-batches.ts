import type { Caller } from "../../caller.ts";
import { Memory } from "../../memory.ts";
import type { Batch } from "../api/batches.ts";

/** How long the rejection of a list is remembered, in milliseconds: servers are updated. */
const REMEMBERED_MS = 600_000;

/**
 * Remembers the batches whose lists the server rejects although it serves the single reads. For each caller, because the
 * cause may be the input or the rights of one caller.
 */
export class RefusedBatches {
  readonly #memory = new Memory<ReadonlySet<Batch>>(REMEMBERED_MS);
  readonly #onRefused: (route: string) => void;

  constructor(onRefused: (route: string) => void) {
    this.#onRefused = onRefused;
  }

  has(caller: Caller, batch: Batch): boolean {
    return this.#memory.get(caller)?.has(batch) ?? false;
  }

  add(caller: Caller, batch: Batch): void {
    this.#memory.set(caller, new Set(this.#memory.get(caller)).add(batch));
    this.#onRefused(batch.endpoint.path);
  }
}
