/*
 * A map for members that are added and removed with requests. Own code for the reason in linked-list.ts: V8 links each table of a `Map` to
 * the table that replaces it.
 */

/** A new map replaces the old one when it has more deleted keys than this, and more deleted keys than others. */
const MAX_DELETED = 1_000;

/** A map with string keys. A key that is deleted and set again may keep its position. */
export class CompactingMap<Value extends {}> {
  #members = new Map<string, Value | undefined>();
  size = 0;

  get(key: string): Value | undefined {
    return this.#members.get(key);
  }

  set(key: string, value: Value): void {
    if (this.#members.get(key) === undefined) this.size++;
    this.#members.set(key, value);
  }

  delete(key: string): void {
    if (this.#members.get(key) === undefined) return;
    this.#members.set(key, undefined);
    this.size--;
    const deleted = this.#members.size - this.size;
    if (this.size === 0) this.#members = new Map();
    else if (deleted > MAX_DELETED && deleted > this.size)
      this.#members = new Map([...this.#members].filter(([, value]) => value !== undefined));
  }
}
