import type { GraphQLSchema } from "graphql";
import { builder } from "./core/builder.ts";
import "./types/build-job.ts";
import "./types/cluster.ts";
import "./operations/entity.ts";
import "./types/experiment-job.ts";
import "./types/experiment.ts";
import { serveSdl, toSubgraphSchema } from "./federation/entities.ts";
import "./types/gateway-info.ts";
import "./types/group.ts";
import "./types/job.ts";
import { prefetchResources } from "./core/prefetch.ts";
import "./types/project.ts";
import "./types/run.ts";
import "./core/scalars.ts";
import "./types/user.ts";
import { rename } from "./federation/rename.ts";
import type { TypeNames } from "./core/type-names.ts";

builder.queryType({ description: "Reading." });
builder.mutationType({
  description:
    "Changing. The fields of one request run one after the other, each reading fresh data afterwards. A field is null with an error (`extensions.code`) when the service refused or did not answer; writes are never sent twice.",
});

/** The schema of all imported slices, with our own names. */
const build = (): GraphQLSchema => prefetchResources(toSubgraphSchema());

const finish = (named: GraphQLSchema): GraphQLSchema => serveSdl(named);

/** The whole schema, with our own names. */
export const schema = finish(build());

/** The schema with its served names. */
export const schemaFor = (names: TypeNames): GraphQLSchema =>
  names.areOurs ? schema : finish(rename(build(), names));
