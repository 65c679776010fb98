import type { ObjectRef } from "@pothos/core";
import { isObject } from "../../rest/api/record.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { runs } from "../../rest/api/kinds.ts";
import { InputError } from "../../errors.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { Experiment } from "../core/refs.ts";
import { cloned, targetOf } from "./mutations.ts";

const RestartExperimentInput = builder.inputType("RestartExperimentInput", {
  description: "What differs from the source. What is omitted or null stays as it was.",
  fields: (t) => ({
    description: t.string({ description: "Description. Requires `RESTART_DESCRIPTION`." }),
    declarations: t.field({
      type: "JSON",
      description: "Parameters: an object of names and values. Requires `RESTART_DECLARATIONS`.",
    }),
    updateCode: t.boolean({ description: "Whether to run the latest code. Requires `RESTART_UPDATE_CODE`." }),
  }),
});

function checkDeclarations(declarations: unknown): void {
  if (declarations == null || isObject(declarations)) return;
  const type = Array.isArray(declarations) ? "list" : typeof declarations;
  throw new InputError(`input.declarations: expected an object of names and values, got a ${type}`);
}

/** Restarts an experiment as a new record. Without input, the request has no body. */
export const restart = (type: ObjectRef<PothosTypes, typeof Experiment.$inferType>): void =>
  builder.mutationField("restartExperiment", (t) =>
    t.field({
      type,
      description: "Restarts an experiment as a new record.",
      args: {
        ...withId(Experiment),
        input: t.arg({ type: RestartExperimentInput, description: "What differs." }),
      },
      resolve: async (_, { id, input }, context) => {
        const { session } = context;
        checkDeclarations(input?.declarations);
        const source = await targetOf(Experiment.kind, id, context);
        const given = Object.entries(input ?? {}).filter(([, value]) => value !== null);
        const body = bodyOf("restart", session.server.profile.inputs.restart, Object.fromEntries(given));
        const isEmpty = Object.keys(body).length === 0;
        const { restart: endpoint } = runs.experiment.endpoints;
        return cloned(source, await session.send(endpoint, source.address, isEmpty ? undefined : body));
      },
    }),
  );
