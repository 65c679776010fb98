import { composeServices } from "@apollo/composition";
import { composeServices as composeWithGuild } from "@theguild/federation-composition";
import { federateSubgraphs, LATEST_ROUTER_COMPATIBILITY_VERSION } from "@wundergraph/composition";
import { type DocumentNode, Kind, parse, print } from "graphql";
import type { Subgraph } from "./subgraphs.ts";

/** A composed supergraph, or the errors of the composition. */
interface Composed {
  /** Errors, hints and warnings. */
  readonly problems: readonly string[];
  readonly schema: DocumentNode;
  /** The subgraphs that a field comes from. */
  readonly sources: (type: string, field: string) => string[];
}

export type Compose = (subgraphs: readonly Subgraph[]) => Composed;

const parsed = ({ name, url, sdl }: Subgraph) => ({ name, url, typeDefs: parse(sdl) });

/** Throws the errors of the composition. */
export function toSupergraph(subgraphs: readonly Subgraph[]): string {
  const { supergraphSdl, errors } = composeServices(subgraphs.map(parsed));
  if (!supergraphSdl) throw new TypeError(errors?.join("\n"));
  return supergraphSdl;
}

export const withApollo: Compose = (subgraphs) => {
  try {
    const { supergraphSdl, errors = [], hints = [] } = composeServices(subgraphs.map(parsed));
    return ofSupergraph(subgraphs, supergraphSdl, [...errors, ...hints].map(String));
  } catch (problem) {
    // The composer throws errors that it finds while merging an interface into a type of the same name.
    return none([String(problem)]);
  }
};

export const withGuild: Compose = (subgraphs) => {
  const { supergraphSdl, errors = [] } = composeWithGuild(subgraphs.map(parsed));
  return ofSupergraph(subgraphs, supergraphSdl, errors.map(String));
};

/** The composition of the Cosmo router. In place of a supergraph, it returns the router's settings. */
export const federate = (subgraphs: readonly Subgraph[]) =>
  federateSubgraphs({
    subgraphs: subgraphs.map(({ name, url, sdl }) => ({ name, url, definitions: parse(sdl) })),
    version: LATEST_ROUTER_COMPATIBILITY_VERSION,
  });

export const withWundergraph: Compose = (subgraphs) => {
  const federated = federate(subgraphs);
  const warnings = federated.warnings.map(String);
  if (!federated.success) return none([...federated.errors.map(String), ...warnings]);
  return {
    problems: warnings,
    schema: federated.federatedGraphAST,
    sources: (type, field) =>
      [...federated.subgraphConfigBySubgraphName]
        .filter(([, { configurationDataByTypeName: types }]) => types.get(type)?.fieldNames.has(field))
        .map(([name]) => name),
  };
};

const none = (problems: readonly string[]): Composed => ({
  problems,
  schema: { kind: Kind.DOCUMENT, definitions: [] },
  sources: () => [],
});

/** Reads the subgraphs of fields as routers do, from `@join__field(graph: …)` if there is one. */
function ofSupergraph(
  subgraphs: readonly Subgraph[],
  supergraph: string | undefined,
  problems: readonly string[],
): Composed {
  if (supergraph === undefined) return none(problems);
  const schema = parse(supergraph);
  return {
    problems,
    schema,
    sources: (type, field) => {
      const directives = fieldsOf(schema, type).get(field) ?? [];
      return subgraphs
        .map(({ name }) => name)
        .filter((name) => directives.some((each) => each.includes(`graph: ${toGraph(name)}`)));
    },
  };
}

const toGraph = (name: string) => name.toUpperCase().replaceAll("-", "_");

/** The directives of each field of a type, by its name. */
export function fieldsOf(
  { definitions }: DocumentNode,
  type: string,
): ReadonlyMap<string, readonly string[]> {
  const fields = definitions.flatMap((node) =>
    (node.kind === Kind.OBJECT_TYPE_DEFINITION || node.kind === Kind.INTERFACE_TYPE_DEFINITION) &&
    node.name.value === type
      ? (node.fields ?? [])
      : [],
  );
  return new Map(
    fields.map(({ name, directives = [] }) => [name.value, directives.map((each) => print(each))]),
  );
}
