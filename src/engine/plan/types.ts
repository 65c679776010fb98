import type { FieldNode, GraphQLError, GraphQLObjectType, SelectionSetNode } from "graphql";
import type {
  TracedContext,
  Prefetch,
  ResponsePath,
  SelectionNeeds,
  Variables,
} from "../field-extensions.ts";
import type { Meter } from "../meter.ts";
import type { CollectSettings } from "./collect.ts";

/** A compiled selection on one object type at one position of a document. */
export interface Selection {
  readonly fields: readonly PlannedField[];
  /** The fields that return a key of the object or of its record unchanged. */
  readonly plain: readonly PlainField[];
  readonly others: readonly PlannedField[];
  /**
   * Whether the objects are written in one loop. Objects of records are not written this way, because completed objects of records are
   * reused.
   */
  readonly isPlain: boolean;
  /** Whether each object is a `LoadedRecord`. */
  readonly isOfRecord: boolean;
  /**
   * Whether a completed object of a record is reused at other paths. An object with deferred fragments is not, because these are
   * delivered separately for each path.
   */
  readonly isMemoizable: boolean;
  /** The fragments that are delivered later; none in most documents. */
  readonly deferred: readonly DeferredFragment[];
  readonly needs: SelectionNeeds;
  /** Creates an object with all slots null. It also works for the response name `__proto__`. */
  readonly createObject: () => ResultSlots;
}

/** A fragment with `@defer` on one object type. */
export interface DeferredFragment {
  readonly label: string | null;
  /** All fields that the fragment selects, even if they are also selected elsewhere. Compiled on first use. */
  readonly selection: () => Selection;
}

/** A field that returns a key of the object or of its record unchanged, with a type whose values usually need no serialization. */
interface PlainField extends Pick<PlannedField, "key" | "keyBytes" | "isNullable"> {
  readonly property: string;
  readonly isPassThrough: (value: unknown) => boolean;
}

/** A complete object of the result, and the amounts that the meter counted for it. */
export interface CompletedObject {
  readonly values: ResultSlots;
  /** Whether `bytes` includes the escapes of short strings. */
  readonly isExact: boolean;
  readonly fields: number;
  readonly bytes: number;
}

/** A position of a document at which values are completed. */
export interface ValuePosition {
  /** The coordinate `Type.field`, for messages. */
  readonly coordinate: string;
  readonly nodes: readonly FieldNode[];
  readonly isNullable: boolean;
  readonly complete: Complete;
}

/** The field at one response name of a selection. */
export interface PlannedField extends ValuePosition {
  readonly name: string;
  readonly key: string;
  /** Bytes of `"key":` with a comma and brackets. */
  readonly keyBytes: number;
  readonly resolve: (parent: unknown, args: object, context: TracedContext) => unknown;
  /** Null for a field without arguments. */
  readonly argsFor: ((variables: Variables) => object) | null;
  /** Starts the field's own reads, which need only the address of the parent; null when the field has no reads of its own. */
  readonly child: ((parent: unknown, args: object, context: TracedContext) => Promise<unknown>) | null;
}

/** The values of an object or list of the result. */
export type ResultSlots = Record<string | number, unknown>;

/** Completes a non-null value of one type and writes it into its slot. Throws when the value is invalid. */
export type Complete = (
  value: unknown,
  slots: ResultSlots,
  at: string | number,
  above: Container,
  execution: ExecutionContext,
) => void;

/** An object or list of the result while it is completed. */
export interface Container extends ResponsePath {
  readonly parent: Container | null;
  /** The values of the object or list that contains this one. */
  readonly slots: ResultSlots;
  readonly isNullable: boolean;
  /** Whether an error below has made this object or list null. Later values are dropped. */
  isNulled: boolean;
}

/**
 * The error behavior, as in the draft of the specification: `PROPAGATE` makes the nearest nullable value above the error null, `NULL` makes
 * only the failed value null, and `HALT` ends the operation without data.
 */
export type ErrorBehavior = "NULL" | "PROPAGATE" | "HALT";

export interface ExecutionBehavior {
  readonly onError: ErrorBehavior;
  readonly isIncremental: boolean;
}

/** The state of one execution, of one root field of a mutation, or of one incremental part. */
export interface ExecutionContext {
  readonly context: TracedContext;
  readonly variables: Variables;
  readonly meter: Meter;
  readonly errors: GraphQLError[];
  readonly onError: ErrorBehavior;
  /** Ends the operation with one error and without data. */
  readonly halt: (error: GraphQLError) => void;
  /** Completed objects by selection and record. They are reused, because many objects of a page refer to the same record. */
  readonly completed: Map<Selection, Map<object, CompletedObject>>;
  /** Number of pending values, plus one until all root values have been started. */
  pending: number;
  /** Called when `pending` is zero. */
  readonly onEnd: () => void;
  /** Deferred fragments and streamed items of the execution; null without incremental delivery. */
  readonly deferredWork: (DeferredFragments | StreamedItems)[] | null;
}

export interface DeferredFragments {
  readonly fragments: readonly DeferredFragment[];
  readonly object: unknown;
  /** The field that returned the object; null for the root. */
  readonly field: CompletedField | null;
  readonly container: Container;
}

/** The items of a list: an array, or a `LazyList`. */
export type ListItems = Pick<readonly unknown[], "length" | "at">;

export interface StreamedItems {
  readonly label: string | null;
  readonly container: Container;
  readonly items: ListItems;
  /** Index of the first item that is delivered later. */
  readonly from: number;
  readonly item: ValuePosition;
}

export interface CompletedField extends Pick<ValuePosition, "coordinate" | "nodes"> {
  /** Prefetches the selection of the field's objects, in nullable positions only. */
  readonly prefetch: Prefetch | undefined;
}

/** The compiled selections of a plan. Each selection is compiled on first use. */
export interface Compilation extends Pick<CollectSettings, "schema" | "deferral"> {
  /** Compiles selection sets on a type, once for each `key` of the type. */
  readonly compiled: (type: GraphQLObjectType, key: object, sets: readonly SelectionSetNode[]) => Selection;
  readonly selectionOf: (type: GraphQLObjectType, nodes: readonly FieldNode[]) => Selection;
}
