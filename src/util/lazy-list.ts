/**
 * A list whose items are created when they are read. An operation with nested lists can select far more items than it may return. It is
 * stopped before most of them are created.
 */
export class LazyList<Item> implements Iterable<Item> {
  readonly length: number;
  readonly at: (index: number) => Item;

  constructor(length: number, at: (index: number) => Item) {
    this.length = length;
    this.at = at;
  }

  *[Symbol.iterator](): Generator<Item> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}
