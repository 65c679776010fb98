import type { FieldNode, GraphQLError, GraphQLObjectType, GraphQLSchema, SelectionSetNode } from "graphql";
import type {
  TracedContext,
  Prefetch,
  ResponsePath,
  SelectionNeeds,
  Variables,
} from "../field-extensions.ts";
import type { Meter } from "../meter.ts";
import type { IncrementalDirectives } from "./collect.ts";

/** A compiled selection on one object type at one position of a document. */
export interface Selection {
  readonly fields: readonly PlannedField[];
  /** The fields that return a key of the object or of its record unchanged. */
  readonly plain: readonly PlainField[];
  readonly others: readonly PlannedField[];
  /** Whether its objects are written in one loop. Those of records are not: completed objects are reused. */
  readonly isPlain: boolean;
  /** Whether its objects are a `LoadedRecord`. */
  readonly isOfRecord: boolean;
  /** Whether a completed object of a record is reused at other paths. Not with deferred fragments: each path has its own. */
  readonly isMemoizable: boolean;
  /** The fragments that are delivered later; none in most documents. */
  readonly deferred: readonly DeferredFragment[];
  readonly needs: SelectionNeeds;
  /** Creates the object for the values, all null: without a prototype when a response name is `__proto__`. */
  readonly createObject: () => ResultSlots;
}

/** A fragment with `@defer` on one object type. */
export interface DeferredFragment {
  readonly label: string | null;
  /** All that it selects, whether something else selects it as well. Compiled on first use. */
  readonly selection: () => Selection;
}

/** A field that returns a key of the object or of its record, of a type whose values are mostly written unchanged. */
export interface PlainField extends Pick<PlannedField, "key" | "keyBytes" | "isNullable"> {
  readonly property: string;
  readonly isPassThrough: (value: unknown) => boolean;
}

/** An object of the result that is complete, and what it counts. */
export interface CompletedObject {
  readonly values: ResultSlots;
  /** Whether its bytes include the escapes of short strings. */
  readonly isExact: boolean;
  readonly fields: number;
  readonly bytes: number;
}

/** How values at one position of a document are completed, and the nodes that locate their errors. */
export interface ValuePosition {
  /** `Type.field`, for messages. */
  readonly coordinate: string;
  readonly nodes: readonly FieldNode[];
  readonly isNullable: boolean;
  readonly complete: Complete;
}

/** One response name of a selection. */
export interface PlannedField extends ValuePosition {
  readonly name: string;
  readonly key: string;
  /** Bytes of `"key":` with a comma and brackets. */
  readonly keyBytes: number;
  readonly resolve: (parent: unknown, args: object, context: TracedContext) => unknown;
  /** Null for a field without arguments. */
  readonly argsFor: ((variables: Variables) => object) | null;
  /** Starts the field's own reads, which need only the address of the parent; null when it has none. */
  readonly child: ((parent: unknown, args: object, context: TracedContext) => Promise<unknown>) | null;
}

/** The values of an object or list of the result. */
export type ResultSlots = Record<string | number, unknown>;

/** Completes a value of one type, which is not null, and writes it into its slot. Throws when the value is invalid. */
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
  /** The values of the object or list above it. */
  readonly slots: ResultSlots;
  readonly isNullable: boolean;
  /** Whether an error below has made it null. Later values are dropped. */
  isNulled: boolean;
}

/**
 * The error behavior, as in the draft of the specification: `PROPAGATE` makes the nearest nullable value above it null,
 * `NULL` only the value itself, and `HALT` ends the operation without data.
 */
export type ErrorBehavior = "NULL" | "PROPAGATE" | "HALT";

export interface ExecutionBehavior {
  readonly onError: ErrorBehavior;
  /** Whether the result may be delivered incrementally. */
  readonly isIncremental: boolean;
}

/** One execution, or one root field of a mutation. */
export interface ExecutionContext {
  readonly context: TracedContext;
  readonly variables: Variables;
  readonly meter: Meter;
  readonly errors: GraphQLError[];
  readonly onError: ErrorBehavior;
  /** Ends the operation with one error and without data. */
  readonly halt: (error: GraphQLError) => void;
  /** Complete objects by selection and record: many objects of a page refer to the same record. */
  readonly completed: Map<Selection, Map<object, CompletedObject>>;
  /** Number of pending values, plus one until the start is complete. */
  pending: number;
  /** Called when `pending` is zero. */
  readonly onEnd: () => void;
  /** Deferred fragments and streamed items of the execution; null without incremental delivery. */
  readonly deferredWork: (DeferredFragments | StreamedItems)[] | null;
}

export interface DeferredFragments {
  readonly fragments: readonly DeferredFragment[];
  readonly object: unknown;
  /** The field whose object it is; null for the root. */
  readonly field: CompletedField | null;
  readonly container: Container;
}

/** The items of a list: an array, or `MadeItems`. */
export type ListItems = Pick<readonly unknown[], "length" | "at">;

export interface StreamedItems {
  readonly label: string | null;
  readonly container: Container;
  readonly items: ListItems;
  /** Index of the first that is delivered later. */
  readonly from: number;
  readonly item: ValuePosition;
}

export interface CompletedField extends Pick<ValuePosition, "coordinate" | "nodes"> {
  /** Prefetches the selection of the field's objects where they are nullable. */
  readonly prefetch: Prefetch | undefined;
}

/** The compiled selections of a plan, for completing values. Each is compiled on first use. */
export interface Compilation {
  readonly schema: GraphQLSchema;
  /** What is delivered later; null for nothing. */
  readonly deferral: IncrementalDirectives | null;
  /** The selection of sets on a type. `key` identifies it among those on that type. */
  readonly compiled: (type: GraphQLObjectType, key: object, sets: readonly SelectionSetNode[]) => Selection;
  readonly selectionOf: (type: GraphQLObjectType, nodes: readonly FieldNode[]) => Selection;
}
