import type { GraphQLSchema } from "graphql";
import { builder } from "./core/builder.ts";
import { describeListCosts } from "./core/list-costs.ts";
import { prefetchResources } from "./core/prefetch.ts";
import { serveSubgraph, toSubgraphSchema } from "./federation/subgraph.ts";
import { rename, renameDocument, type Renames, wordsOf } from "./federation/rename.ts";

// Each file adds its types and fields to the builder, in the order of these imports. GraphiQL suggests root fields in the order of the
// strings of their indexes, so that `experiment` (10) comes before `experimentJob` (8), and `project` (14) before `projects` (4).
import "./core/scalars.ts";
import "./types/interfaces.ts";
import "./types/entity.ts";
import "./types/user.ts";
import "./types/gateway-info.ts";
import "./types/cluster.ts";
import "./analysis/compare-experiments.ts";
import "./types/experiment.ts";
import "./types/run-mutations.ts";
import "./types/create-run.ts";
import "./types/active-runs.ts";
import "./types/all-runs.ts";
import "./types/project.ts";
import "./types/record-metrics.ts";
import "./types/several-runs.ts";
import "./types/build-job.ts";
import "./types/group.ts";
import "./types/job.ts";
import "./analysis/metric-summary.ts";
import "./analysis/experiment-summary.ts";
import "./subscriptions/experiment-metric-recorded.ts";
import "./subscriptions/run-log-appended.ts";
import "./subscriptions/runs-updated.ts";

builder.queryType({
  description:
    'Queries. A field whose reads fail is null, with an error whose `extensions.code` says why. "Requires" in a description names one of `gateway.capabilities`.',
});
builder.mutationType({
  description:
    "Mutations. A new run comes from a specification, by `create…`, or from another run, by `restart…`, `resume…` or `copy…`. They run in order, and no write is sent twice. One that fails is null with an error; `extensions.outcome` is `unknown` where it may have taken effect. A record in a payload is read after the command, if more than its address is selected.",
});
builder.subscriptionType({
  description:
    "Subscriptions, by server-sent events or WebSocket. The gateway polls the service, and tolerates its failures for a minute.",
});

const build = (): GraphQLSchema => describeListCosts(prefetchResources(toSubgraphSchema()));

export const schema = serveSubgraph(build());

/** Returns the schema with renamed types. The code uses the original names everywhere. */
export const schemaFor = (renames: Renames): GraphQLSchema =>
  Object.keys(renames).length === 0 ? schema : serveSubgraph(rename(build(), renames));

/** Returns a function that renames types and root fields in a document, as `schemaFor` does in the schema. */
export function documentsFor(renames: Renames): (text: string) => string {
  if (Object.keys(renames).length === 0) return (text) => text;
  const words = wordsOf(schema, renames);
  return (text) => renameDocument(text, words);
}
