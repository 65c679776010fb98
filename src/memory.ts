import { LRUCache } from "lru-cache";

/** Maximum callers that a memory holds; the least recently used are dropped. Each takes some 200 bytes. */
const MAX_REMEMBERED = 20_000;

/** Who is remembered, by a key that means nothing outside the process. */
interface Remembered {
  readonly key: string;
}

/** A bounded memory of facts about callers, which outlasts their requests. */
export class Memory<Fact extends {}> {
  readonly #facts: LRUCache<string, Fact>;

  constructor(keptMs: number) {
    // A `max` would take the memory for all of them at once.
    this.#facts = new LRUCache({
      maxSize: MAX_REMEMBERED,
      sizeCalculation: () => 1,
      ttl: keptMs,
      ttlResolution: 1_000,
    });
  }

  has({ key }: Remembered): boolean {
    return this.#facts.has(key);
  }

  get({ key }: Remembered): Fact | undefined {
    return this.#facts.get(key);
  }

  set({ key }: Remembered, fact: Fact): void {
    this.#facts.set(key, fact);
  }

  delete({ key }: Remembered): void {
    this.#facts.delete(key);
  }
}
