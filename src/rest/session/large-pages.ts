/** Maximum number of remembered lists. `PAGE_SIZE_TTL_MS`: how long each is remembered, in milliseconds. */
const MAX_LISTS = 100;
const PAGE_SIZE_TTL_MS = 600_000;

/** The page sizes that were too large for lists of a caller, so that later reads of these lists begin with smaller pages. */
export class LargePages {
  readonly #known = new Map<string, { readonly size: number; readonly until: number }>();

  /** The page size that was too large for a list: undefined if none was, infinity if the server's own page size was. */
  find(markOf: () => string): number | undefined {
    const known = this.#known.size > 0 ? this.#known.get(markOf()) : undefined;
    return known && known.until > Date.now() ? known.size : undefined;
  }

  add(mark: string, size: number): void {
    if (this.#known.size >= MAX_LISTS) this.#known.clear();
    this.#known.set(mark, { size, until: Date.now() + PAGE_SIZE_TTL_MS });
  }
}
