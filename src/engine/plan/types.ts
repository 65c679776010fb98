import type { FieldNode, GraphQLError, GraphQLObjectType, GraphQLSchema } from "graphql";
import type { IsSelected, SelectionNeeds, Variables } from "../field-source.ts";
import type { Meter } from "../meter.ts";

/** What is selected on one object type at one place of a document. */
export interface Selection {
  readonly type: GraphQLObjectType;
  readonly fields: readonly PlannedField[];
  readonly needs: SelectionNeeds;
  /** A new object for the values: without a prototype where one of the names is `__proto__`. */
  readonly createObject: () => Slots;
}

/** A field at one place of a document: what its errors tell. */
export interface FieldSite {
  readonly parentType: string;
  readonly name: string;
  readonly nodes: readonly FieldNode[];
}

/** One response name of a selection. */
export interface PlannedField extends FieldSite {
  readonly key: string;
  /** `"key":` with a comma and brackets. */
  readonly keyBytes: number;
  readonly isNullable: boolean;
  /** The field's resolver. It is given no `info`: what it may know of the selection was worked out before. */
  readonly resolve: (parent: unknown, args: object, context: unknown, selected: Selected) => unknown;
  readonly argsFor: (variables: Variables) => object;
  readonly complete: Complete;
  /** The fourth argument of the resolver; null where no resolver looks at it. */
  readonly selectedFor: ((variables: Variables) => Selected) | null;
}

/** What a resolver is given in the place of `info`: the schema for introspection, and what is selected below for reads ahead. */
interface Selected {
  readonly schema: GraphQLSchema;
  readonly isSelected: IsSelected;
}

/** The values of an object or a list of the result. */
export type Slots = Record<string | number, unknown>;

/** Completes a value of one type and writes it where it belongs. Throws what makes it an error. */
export type Complete = (value: unknown, slots: Slots, at: string | number, above: Place, run: Run) => void;

/** An object or a list of the result that is being completed. */
export interface Place {
  readonly parent: Place | null;
  readonly slots: Slots;
  readonly at: string | number;
  readonly isNullable: boolean;
  /** Whether an error below has made it null: what else comes is dropped. */
  isNulled: boolean;
}

/** One execution, or one root field of a mutation. */
export interface Run {
  readonly context: unknown;
  readonly variables: Variables;
  readonly meter: Meter;
  readonly errors: GraphQLError[];
  /** Values that are waited for, and one for the start. */
  pending: number;
  /** Called when nothing is waited for any more. */
  readonly onEnd: () => void;
}

/** What completing a type needs of the plan. */
export interface Compilation {
  readonly schema: GraphQLSchema;
  /** What is selected on a type below a field. Compiled when it is first met, and kept. */
  readonly selectionOf: (type: GraphQLObjectType, nodes: readonly FieldNode[]) => Selection;
}
