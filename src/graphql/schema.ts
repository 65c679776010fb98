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

/** The whole schema; every slice has added its types and fields by being imported. */
export const schema = builder.toSchema();
