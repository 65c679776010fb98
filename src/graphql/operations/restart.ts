import { isObject } from "../../rest/api/record.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { runs } from "../../rest/api/kinds.ts";
import { InputError } from "../../errors.ts";
import { builder } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { Experiment } from "../core/refs.ts";
import { cloned, payloadOf, targetOf } from "./mutations.ts";

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

builder.mutationField("restartExperiment", (t) =>
  t.field({
    type: payloadOf(Experiment),
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
      const { restart } = runs.experiment.endpoints;
      // Without input, the request has no body.
      const sent = Object.keys(body).length === 0 ? undefined : body;
      return cloned(source, await session.send(restart, source.address, sent));
    },
  }),
);
