/*
 * Metadata in a field's `extensions`, read by the plan and the limits. The types here are loose, because the engine depends neither on REST
 * nor on records. The schema code that declares fields checks these types.
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

/** The context of resolvers. It has a response path only in a traced operation. */
export interface TracedContext {
  /** The response path of the field that is resolved; null outside of the result and without a trace. */
  readonly path: ResponsePath | null;
  /** The context for another path; null without a trace. */
  readonly at: ((path: ResponsePath) => TracedContext) | null;
}

/** Starts a field's own reads, which need only the address of the parent and can start before the parent's record is loaded. */
type StartChild = (
  parent: never,
  args: never,
  context: never,
  isSelected: IsSelected,
  keysOf: KeysOf,
) => Promise<unknown>;

/** The needs of a selection's fields from their parent object. */
export interface SelectionNeeds {
  /** Keys of the parent's record. */
  readonly keys: readonly string[];
  /** Reads that need only the parent's address. */
  readonly children: readonly ChildRead[];
  /** The needs of the deferred fragments in the selection; absent without deferred fragments. */
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

/** An object whose record is loaded, at least partly. */
export interface LoadedRecord {
  readonly loaded: Readonly<Record<string, unknown>>;
}

/**
 * A field value that is computed later, in a time slice of the operation. If promises computed their values themselves, many of them could
 * resolve at once and block the event loop, because microtasks run without a pause.
 */
export class LazyValue {
  readonly compute: () => unknown;

  constructor(compute: () => unknown) {
    this.compute = compute;
  }
}

export interface FieldExtensions {
  /** Keys of the parent's record that the field needs. The parent is a `LoadedRecord`. */
  readonly keys?: readonly string[];
  /** The key whose value the field returns unchanged: a key of the parent's record if `keys` is set, otherwise of the parent itself. */
  readonly property?: string;
  readonly child?: { readonly start: StartChild; readonly proves: (read: never) => boolean };
  readonly prefetch?: Prefetch;
  /** The list argument whose length is the number of items in the field. */
  readonly itemsOf?: string;
  /** How often the root of an operation may select the field. */
  readonly maxPerOperation?: number;
  /** Whether a failure that several items of the root field share is reported as one error per item. */
  readonly errorsStaySeparate?: boolean;
}

/** Metadata in the `extensions` of an argument or an input field. */
export interface InputExtensions {
  /**
   * Whether the value is a secret, such as a password. GraphiQL neither stores nor shares documents that select a field with such an
   * argument.
   */
  readonly isSecret?: boolean;
}

export interface SchemaExtensions {
  /** Returns the schema that introspection shows, if it is another schema. */
  readonly introspected?: () => object;
}

export interface ScalarExtensions {
  /** Whether a value needs no serialization. */
  readonly isPassThrough?: (value: unknown) => boolean;
}
