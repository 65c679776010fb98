import { GraphQLError } from "graphql";
import { UpstreamError } from "../errors.ts";

type Path = NonNullable<GraphQLError["path"]>;

/** Errors of one failure, the first one in front. */
interface Group {
  readonly first: GraphQLError;
  readonly failure: UpstreamError;
  readonly references: Set<string | undefined>;
  /** Where the answer is null because of it, by their text. */
  readonly paths: Map<string, Path>;
}

/**
 * Tells each failure of the service once, however many places of the answer are null because of it: the error stands at
 * the first of them, and `extensions.paths` names them all where there are several.
 */
export function mergeFailures(errors: readonly GraphQLError[], data: unknown): GraphQLError[] {
  const groups = new Map<unknown, Group>();
  const merged: (GraphQLError | Group)[] = [];
  for (const error of inOrderOf(data, errors)) {
    const { originalError: fault, path } = error;
    if (!(fault instanceof UpstreamError) || !path) {
      merged.push(error);
      continue;
    }
    const failure = rootOf(fault);
    const key = keyOf(fault, failure, path);
    const known = groups.get(key);
    const group = known ?? { first: error, failure, references: new Set(), paths: new Map() };
    group.references.add(fault.facts.reference);
    const place = nullAt(data, path);
    group.paths.set(place.join(" "), place);
    if (known) continue;
    groups.set(key, group);
    merged.push(group);
  }
  return merged.map((each) => (each instanceof GraphQLError ? each : errorOf(each)));
}

/** Errors in the order of the result, whatever came first. */
function inOrderOf(data: unknown, errors: readonly GraphQLError[]): readonly GraphQLError[] {
  if (errors.length < 2) return errors;
  /** The places of the keys of each object. */
  const places = new Map<object, ReadonlyMap<string, number>>();
  const placeOf = (object: object, key: string): number => {
    const known = places.get(object) ?? new Map(Object.keys(object).map((each, index) => [each, index]));
    places.set(object, known);
    return known.get(key) ?? 0;
  };
  const orderOf = ({ path }: GraphQLError): number[] => {
    // What is said of the whole result is said last.
    if (!path) return [Number.POSITIVE_INFINITY];
    let value = data;
    return path.map((key) => {
      if (typeof value !== "object" || value === null) return 0;
      const place = typeof key === "number" ? key : placeOf(value, key);
      value = (value as Readonly<Record<string | number, unknown>>)[key];
      return place;
    });
  };
  return errors
    .map((error) => ({ error, order: orderOf(error) }))
    .toSorted((a, b) => compare(a.order, b.order))
    .map(({ error }) => error);
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((place, at) => place !== b[at]);
  return index === -1 ? a.length - b.length : (a[index] ?? 0) - (b[index] ?? 0);
}

/** The place of the answer that is null: a value that may not be null takes what it belongs to with it. */
function nullAt(data: unknown, path: Path): Path {
  let value = data;
  for (const [index, key] of path.entries()) {
    if (value === null || value === undefined) return path.slice(0, index);
    value = (value as Readonly<Record<string | number, unknown>>)[key];
  }
  return path;
}

/** Reads are shared, so one failed request is one object, told with the reference that led to it. */
const rootOf = (fault: UpstreamError): UpstreamError =>
  fault.cause instanceof UpstreamError ? rootOf(fault.cause) : fault;

function keyOf({ code, facts: { reference } }: UpstreamError, failure: UpstreamError, path: Path): unknown {
  // A router gives each representation's errors their places in its own answer: it needs one for each.
  if (path[0] === "_entities") return `${path[1]} ${code} ${reference}`;
  // That a list does not have a name is found out for each link anew.
  return code === "NOT_FOUND" && reference !== undefined ? reference : failure;
}

function errorOf({ first, failure, references, paths }: Group): GraphQLError {
  const [reference, ...others] = references;
  const { nodes, source, positions } = first;
  const [path, ...more] = paths.values();
  return new GraphQLError(failure.message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    originalError: reference !== undefined && others.length === 0 ? failure.of(reference) : failure,
    ...(more.length > 0 && { extensions: { paths: [path, ...more] } }),
  });
}
