/*
 * What a field says of itself in its `extensions`, for the plan and for the limits. The engine knows neither the service
 * nor its records: whoever declares a field writes this, and checks the types.
 */

/** Whether a field is selected below another one: `isSelected("nodes", "metrics")`. */
export type IsSelected = (...path: readonly string[]) => boolean;

export type Variables = Readonly<Record<string, unknown>>;

/** The field's own reads, when they need only the address of its parent: they can start before its record is there. */
type StartChild = (parent: never, args: never, context: never, isSelected: IsSelected) => Promise<unknown>;

/** What a selection needs of the object it is made on. */
export interface SelectionNeeds {
  /** Keys of its record. */
  readonly keys: readonly string[];
  /** Reads that need only its address. */
  readonly children: readonly ChildRead[];
}

interface ChildRead {
  readonly start: (parent: unknown, context: unknown, variables: Variables) => Promise<unknown>;
  /** Whether what was read shows that the parent exists. */
  readonly proves: (read: unknown) => boolean;
}

/** Reads what is selected of an object that a field gives, before its fields are asked for. */
export type Prefetch = (
  object: never,
  needs: SelectionNeeds,
  context: never,
  variables: Variables,
) => unknown;

export interface FieldExtensions {
  /** Keys of the parent's record that the field needs. */
  readonly keys?: readonly string[];
  readonly child?: { readonly start: StartChild; readonly proves: (read: never) => boolean };
  readonly prefetch?: Prefetch;
  /** The list argument that makes the items of the field: as many items as it has are selected on. */
  readonly itemsOf?: string;
}
