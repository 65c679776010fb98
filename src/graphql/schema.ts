import type { GraphQLSchema } from "graphql";
import { builder } from "./builder.ts";
import "./build-job.ts";
import "./cluster.ts";
import "./entity.ts";
import "./experiment-job.ts";
import "./experiment.ts";
import { serveSubgraph, toSubgraphSchema } from "./federation.ts";
import "./gateway-info.ts";
import "./group.ts";
import "./job.ts";
import { meterFields } from "./metered.ts";
import "./project.ts";
import "./runs.ts";
import "./scalars.ts";
import "./user.ts";
import { rename } from "./rename.ts";
import type { TypeNames } from "./type-names.ts";

builder.queryType({ description: "Reading." });
builder.mutationType({
  description:
    "Changing. The fields of one request run one after the other, each reading fresh data afterwards. A field is null with an error (`extensions.code`) when the service refused or did not answer; writes are never sent twice.",
});

/** What every slice has added by being imported, with what all fields have in common. */
const finish = (built: GraphQLSchema): GraphQLSchema => meterFields(serveSubgraph(built));

/** The whole schema under our own names. */
export const schema = finish(toSubgraphSchema());

/** The schema under the names that callers know. */
export const schemaFor = (names: TypeNames): GraphQLSchema =>
  names.areOurs ? schema : finish(rename(toSubgraphSchema(), names));
