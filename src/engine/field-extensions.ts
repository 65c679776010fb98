/*
 * Metadata in a field's `extensions`, read by the plan and the limits. The engine depends neither on REST nor on
 * records, so the types here are loose; the schema code that declares fields checks them.
 */

/** Whether a path of fields is selected: `isSelected("nodes", "metrics")`. */
export type IsSelected = (...path: readonly string[]) => boolean;

/** The keys of records that are selected at a path of fields: `keysOf("project")`. */
export type KeysOf = (...path: readonly string[]) => readonly string[];

export type Variables = Readonly<Record<string, unknown>>;

/** A path in the result: a key or index below another path. */
export interface ResponsePath {
  /** Null at the root. */
  readonly parent: ResponsePath | null;
  readonly at: string | number;
}

/** The context of resolvers. Only that of a traced operation has its path in the result. */
export interface TracedContext {
  /** The path for which a resolver has this context; null outside of the result and without a trace. */
  readonly path: ResponsePath | null;
  /** The context for another path; null without a trace. */
  readonly at: ((path: ResponsePath) => TracedContext) | null;
}

/** Starts a field's own reads. They need only the parent's address, so they can start before its record is loaded. */
type StartChild = (
  parent: never,
  args: never,
  context: never,
  isSelected: IsSelected,
  keysOf: KeysOf,
) => Promise<unknown>;

/** The needs of a selection from its parent object. */
export interface SelectionNeeds {
  /** Keys of the parent's record. */
  readonly keys: readonly string[];
  /** Reads that need only the parent's address. */
  readonly children: readonly ChildRead[];
  /** The needs of its deferred fragments; absent without them. */
  readonly deferred?: () => SelectionNeeds;
}

interface ChildRead {
  readonly start: (parent: unknown, context: TracedContext, variables: Variables) => Promise<unknown>;
  /** Whether the result of the read shows that the parent exists. */
  readonly proves: (read: unknown) => boolean;
}

export type Prefetch = (
  object: never,
  needs: SelectionNeeds,
  context: never,
  variables: Variables,
) => unknown;

/** An object of which a record, or a part of it, is loaded. */
export interface LoadedRecord {
  readonly loaded: Readonly<Record<string, unknown>>;
}

/**
 * A list whose items are created when they are completed. Lists below lists select far more items than an operation may
 * return, and it is stopped before most of them are created.
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

/**
 * The value of a field that is computed in a time slice of the operation. Promises of many fields can be resolved in one slice, and what
 * they compute themselves would run as microtasks without a pause.
 */
export class LazyValue {
  readonly compute: () => unknown;

  constructor(compute: () => unknown) {
    this.compute = compute;
  }
}

export interface FieldExtensions {
  /** Keys of the parent's record that the field needs. Its parents are a `LoadedRecord`. */
  readonly keys?: readonly string[];
  /** The key whose value the field returns unchanged: of the parent's record with `keys`, otherwise of the parent itself. */
  readonly property?: string;
  readonly child?: { readonly start: StartChild; readonly proves: (read: never) => boolean };
  readonly prefetch?: Prefetch;
  /** The list argument whose length is the number of items in the field. */
  readonly itemsOf?: string;
  /** How often an operation may select the field at its root. */
  readonly maxPerOperation?: number;
  /** Whether a failure that several items of the root field share is an error for each of them. */
  readonly errorsStaySeparate?: boolean;
}

/** Metadata in the schema's `extensions`. */
export interface SchemaExtensions {
  /** The schema that introspection shows, where that is another one. */
  readonly introspected?: () => object;
}

/** Metadata in a scalar's `extensions`. */
export interface ScalarExtensions {
  /** Whether a value needs no serialization. */
  readonly isAsIs?: (value: unknown) => boolean;
}
