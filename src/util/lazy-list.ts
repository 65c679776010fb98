/** A list whose items are created when they are read, because an operation is stopped early if it selects too many of them. */
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
