import { GraphQLError } from "graphql";
import { UpstreamError } from "../rest/errors.ts";

type Path = NonNullable<GraphQLError["path"]>;

/** Errors of one failure, the first one in front. */
interface Group {
  readonly first: GraphQLError;
  readonly failure: UpstreamError;
  readonly references: Set<string | undefined>;
  readonly paths: Path[];
}

/**
 * Tells each failure of the service once, however many fields are null because of it: the error stands at the first of
 * them, and `extensions.paths` names them all where there are several.
 */
export function mergeFailures(errors: readonly GraphQLError[]): GraphQLError[] {
  const groups = new Map<unknown, Group>();
  const merged: (GraphQLError | Group)[] = [];
  for (const error of errors) {
    const { originalError: fault, path } = error;
    if (!(fault instanceof UpstreamError) || !path) {
      merged.push(error);
      continue;
    }
    const failure = rootOf(fault);
    const key = keyOf(fault, failure, path);
    const known = groups.get(key);
    const group = known ?? { first: error, failure, references: new Set(), paths: [] };
    group.references.add(fault.facts.reference);
    group.paths.push(path);
    if (known) continue;
    groups.set(key, group);
    merged.push(group);
  }
  return merged.map((each) => (each instanceof GraphQLError ? each : errorOf(each)));
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
  const { nodes, source, positions, path } = first;
  return new GraphQLError(failure.message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    originalError: reference !== undefined && others.length === 0 ? failure.of(reference) : failure,
    ...(paths.length > 1 && { extensions: { paths } }),
  });
}
