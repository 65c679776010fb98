import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { createContext, useContext } from "react";
import { Client, type CombinedError, fetchExchange, mapExchange } from "urql";
import { codesOf } from "./errors.tsx";
import type { ArchiveRunsMutation, ArchiveRunsMutationVariables } from "./generated/graphql.ts";
import { graphql } from "./generated/index.ts";

/** Types without ids. The cache keeps their objects inside their parent objects. */
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

/** A cache that is normalized by the gateway's global ids. A mutation or an event updates a run wherever it is shown. */
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
        // The payload has the runs in their state before the mutation.
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

/** Creates a client for one session. Each token has its own cache. */
export function connect(token: string | undefined, onEnd: () => void): Client {
  const onError = (error: CombinedError) => {
    if (codesOf(error).includes("UNAUTHENTICATED")) onEnd();
  };
  return new Client({
    url: "/graphql",
    preferGetMethod: false, // keeps queries out of the access logs of proxies
    fetchSubscriptions: true, // server-sent events: same URL, headers and proxies as for queries
    fetchOptions: { headers: token ? { authorization: `token ${token}` } : {} },
    exchanges: [mapExchange({ onError }), cache(), fetchExchange],
  });
}

/** The token of the session, for downloads, which do not use GraphQL. */
export const SessionContext = createContext("");

export const useSession = () => useContext(SessionContext);
