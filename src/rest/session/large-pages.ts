/** Maximum number of remembered lists. `PAGE_SIZE_TTL_MS`: how long each is remembered, in milliseconds. */
const MAX_LISTS = 100;
const PAGE_SIZE_TTL_MS = 600_000;

/** The smallest limit of pages that is plausible, in rows. */
const MIN_PAGE_LIMIT = 20;

interface Remembered {
  readonly size: number;
  readonly until: number;
}

const remember = (size: number): Remembered => ({ size, until: Date.now() + PAGE_SIZE_TTL_MS });

const current = (known: Remembered | undefined): number | undefined =>
  known && known.until > Date.now() ? known.size : undefined;

/** The page sizes that were too large for lists of a caller, so that later reads of these lists begin with smaller pages. */
export class LargePages {
  readonly #known = new Map<string, Remembered>();
  /** The sizes of pages that were shorter than requested, by the paths of their endpoints. */
  readonly #limits = new Map<string, Remembered>();

  /** The maximum page size that the server's pages have shown; infinity if none was shorter than requested. */
  limitOf(route: string): number {
    return current(this.#limits.get(route)) ?? Number.POSITIVE_INFINITY;
  }

  /** Records that the server limits its pages, although its profile does not say so. Very short pages have another reason. */
  learnLimit(route: string, size: number): void {
    if (size >= MIN_PAGE_LIMIT) this.#limits.set(route, remember(size));
  }

  /** The page size that was too large for a list: undefined if none was, infinity if the server's own page size was. */
  find(markOf: () => string): number | undefined {
    return this.#known.size > 0 ? current(this.#known.get(markOf())) : undefined;
  }

  add(mark: string, size: number): void {
    if (this.#known.size >= MAX_LISTS) this.#known.clear();
    this.#known.set(mark, remember(size));
  }
}
