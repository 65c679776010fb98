import { GraphQLError, type GraphQLSchema, Kind } from "graphql";
import { GatewayError, withoutStack } from "../errors.ts";
import type { FieldExtensions } from "./field-extensions.ts";
import { selectedNodes } from "./limits.ts";
import type { Plan } from "./plan/plan.ts";

type Path = NonNullable<GraphQLError["path"]>;

interface Group {
  readonly first: GraphQLError;
  readonly failure: GatewayError;
  readonly references: Set<string | undefined>;
  /** The paths of the nulls in the result, by their joined keys. */
  readonly paths: Map<string, Path>;
}

/** The response names of an operation's root fields whose errors are not merged. */
export function separateNames(schema: GraphQLSchema, { operation, fragments }: Plan): ReadonlySet<string> {
  const fields = schema.getRootType(operation.operation)?.getFields();
  return new Set(
    selectedNodes(operation, fragments).flatMap((node) => {
      if (node.kind !== Kind.FIELD) return [];
      const { errorsStaySeparate }: FieldExtensions = fields?.[node.name.value]?.extensions ?? {};
      return errorsStaySeparate ? [(node.alias ?? node.name).value] : [];
    }),
  );
}

/**
 * Merges the errors of one failure into one error, no matter how many positions of the result are null because of it. The merged error
 * has the path of the first position. If there are several positions, `extensions.paths` lists all of them. Below the root fields
 * in `separate`, only the errors of one list item are merged.
 */
export function mergeErrors(
  { errors, data }: { readonly errors: readonly GraphQLError[]; readonly data?: unknown },
  separate: ReadonlySet<string>,
): GraphQLError[] {
  const groups = new Map<unknown, Group>();
  const merged: (GraphQLError | Group)[] = [];
  for (const error of inOrderOf(data, errors)) {
    const { originalError, path } = error;
    if (!(originalError instanceof GatewayError) || !path) {
      merged.push(error);
      continue;
    }
    const failure = rootOf(originalError);
    const { code, details } = originalError;
    const { reference } = details;
    const isSeparate = separate.has(String(path[0]));
    // Each field that refers to a missing record has its own failure, so the errors are grouped by the reference.
    const common = code === "NOT_FOUND" && reference !== undefined ? reference : failure;
    const key = isSeparate ? `${path[0]} ${path[1]} ${code} ${reference}` : common;
    const existing = groups.get(key);
    const group = existing ?? { first: error, failure, references: new Set(), paths: new Map() };
    group.references.add(reference);
    const nullPath = nullAt(data, path);
    group.paths.set(nullPath.join(" "), nullPath);
    if (existing) continue;
    groups.set(key, group);
    merged.push(group);
  }
  return merged.map((each) => (each instanceof GraphQLError ? each : errorOf(each)));
}

/** Sorts errors by their position in the result, independent of timing. */
function inOrderOf(data: unknown, errors: readonly GraphQLError[]): readonly GraphQLError[] {
  if (errors.length < 2) return errors;
  const indexes = new Map<object, ReadonlyMap<string, number>>();
  const indexOf = (object: object, key: string): number => {
    const keys = indexes.get(object) ?? new Map(Object.keys(object).map((each, index) => [each, index]));
    indexes.set(object, keys);
    return keys.get(key) ?? 0;
  };
  const orderOf = ({ path }: GraphQLError): number[] => {
    // Errors about the whole result come last.
    if (!path) return [Number.POSITIVE_INFINITY];
    let value = data;
    return path.map((key) => {
      if (typeof value !== "object" || value === null) return 0;
      const index = typeof key === "number" ? key : indexOf(value, key);
      value = (value as Readonly<Record<string | number, unknown>>)[key];
      return index;
    });
  };
  return errors
    .map((error) => ({ error, order: orderOf(error) }))
    .toSorted((a, b) => compare(a.order, b.order))
    .map(({ error }) => error);
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((position, at) => position !== b[at]);
  return index === -1 ? a.length - b.length : (a[index] ?? 0) - (b[index] ?? 0);
}

/**
 * The path of the null in the result. It can be shorter than the path of the field, because an error in a non-null field makes its parent
 * null.
 */
function nullAt(data: unknown, path: Path): Path {
  let value = data;
  for (const [index, key] of path.entries()) {
    // If the whole result is null, the path of the field is used.
    if (value === null || value === undefined) return path.slice(0, Math.max(1, index));
    value = (value as Readonly<Record<string | number, unknown>>)[key];
  }
  return path;
}

/** The original failure, which several fields may share. Each reference wraps the same error object. */
const rootOf = (error: GatewayError): GatewayError =>
  error.cause instanceof GatewayError ? rootOf(error.cause) : error;

function errorOf({ first, failure, references, paths }: Group): GraphQLError {
  const [reference, ...others] = references;
  const { nodes = null } = first;
  const [path, ...otherPaths] = paths.values();
  const options = {
    nodes,
    path: path ?? null,
    originalError: reference !== undefined && others.length === 0 ? failure.of(reference) : failure,
    ...(otherPaths.length > 0 && { extensions: { paths: [path, ...otherPaths] } }),
  };
  return withoutStack(() => new GraphQLError(failure.message, options));
}
