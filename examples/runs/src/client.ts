import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { createContext, useContext } from "react";
import { Client, type CombinedError, fetchExchange, mapExchange } from "urql";
import { codesOf } from "./errors.tsx";
import type { ArchiveRunsMutation, ArchiveRunsMutationVariables } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";

/** Types without an id of their own: the cache keeps their objects as parts of the objects that they belong to. */
const PARTS =
  "Breakdown CodeReference ComparedValues ExperimentComparison ExperimentCounts ExperimentSummary GatewayInfo GatewayLimits LogChunk " +
  "MetricPoint MetricSeries MetricStatistics MetricSummary MetricValue OutputFile OutputFolder OutputSubfolder PageInfo " +
  "ParameterImportance ParameterRange ParameterValue ParameterValueCount RunConfig RunUpdate";
const CONNECTIONS = ["Bookmarkable", "Experiment", "ExperimentJob", "Group", "MetricRecord", "Project"];

const archivedFragment = graphql(`
  fragment Archived on Experiment {
    id
    isArchived
  }
`);

/** A cache by the global ids of the gateway: news of a run from a mutation or an event shows wherever the run is shown. */
const cache = () =>
  cacheExchange({
    keys: Object.fromEntries(
      [...PARTS.split(" "), ...CONNECTIONS.map((name) => `${name}Connection`)].map((name) => [
        name,
        () => null,
      ]),
    ),
    possibleTypes: {
      Bookmarkable: ["BuildJob", "Experiment", "Group", "Job", "Project"],
      Run: ["BuildJob", "Experiment", "Group", "Job"],
      Trackable: ["BuildJob", "Experiment", "ExperimentJob", "Group", "Job"],
    },
    resolvers: { User: { projects: relayPagination() } },
    updates: {
      Mutation: {
        // The payload has the runs as they were before.
        archiveRuns: (
          { archiveRuns }: ArchiveRunsMutation,
          { isArchived }: ArchiveRunsMutationVariables,
          store,
        ) => {
          for (const { run, outcome } of archiveRuns?.results ?? [])
            if (run && outcome === "DONE") store.writeFragment(archivedFragment, { id: run.id, isArchived });
        },
      },
    },
  });

/** A client for one session: the cache goes with the token that read it. */
export function connect(token: string | undefined, onEnd: () => void): Client {
  const onError = (error: CombinedError) => {
    if (codesOf(error).includes("UNAUTHENTICATED")) onEnd();
  };
  return new Client({
    url: "/graphql",
    preferGetMethod: false, // no queries in the access logs of proxies
    fetchSubscriptions: true, // as server-sent events: the same address, headers and proxies as queries
    fetchOptions: { headers: token ? { authorization: `token ${token}` } : {} },
    exchanges: [mapExchange({ onError }), cache(), fetchExchange],
  });
}

/** The token of the session, for requests that are not GraphQL: downloads. */
export const SessionContext = createContext("");

export const useSession = () => useContext(SessionContext);
