import { builder } from "./builder.ts";
import "./build-job.ts";
import "./cluster.ts";
import "./entity.ts";
import "./experiment-job.ts";
import "./experiment.ts";
import "./gateway-info.ts";
import "./group.ts";
import "./job.ts";
import "./project.ts";
import "./runs.ts";
import "./scalars.ts";
import "./user.ts";

builder.queryType({ description: "Reading." });
builder.mutationType({
  description:
    "Changing. The fields of one request run one after the other, each reading fresh data afterwards. A field is null with an error (`extensions.code`) when the service refused or did not answer; writes are never sent twice.",
});

/** The whole schema; every slice has added its types and fields by being imported. */
export const schema = builder.toSchema();
