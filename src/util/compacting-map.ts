/** Maximum number of deleted keys that are kept while they outnumber the other keys. */
const MAX_DELETED = 1_000;

/** A map for values that are added and removed with requests. Own code for the reason that linked-list.ts gives. */
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
