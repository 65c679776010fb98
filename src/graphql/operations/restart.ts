import { isObject } from "../../rest/api/record.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import type { Revision } from "../../rest/api/kind.ts";
import { bodyOf } from "../../rest/api/inputs.ts";
import { InputError } from "../../errors.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { Experiment } from "../core/refs.ts";
import { type AddMutation, cloned, clonePayload } from "./mutations.ts";
import { targetOf } from "./named-run.ts";

const RestartExperimentInput = builder.inputType("RestartExperimentInput", {
  description:
    "What differs from the source. Omitted fields and null keep its values. A field that the server does not accept is an error with the code `CAPABILITY_UNAVAILABLE`, and nothing is started.",
  fields: (t) => ({
    description: t.string({ description: "Description. Requires the capability `RESTART_DESCRIPTION`." }),
    declarations: t.field({
      type: "JSON",
      description:
        "Parameters of the run: an object of names and values. Whether names that are not given keep their values is decided by the service. Requires the capability `RESTART_DECLARATIONS`.",
    }),
    updateCode: t.boolean({
      description:
        "Whether to run the latest code instead of the source's. Requires the capability `RESTART_UPDATE_CODE`.",
    }),
  }),
});

function checkDeclarations(declarations: unknown): void {
  if (declarations == null || isObject(declarations)) return;
  const type = Array.isArray(declarations) ? "list" : typeof declarations;
  throw new InputError(`input.declarations: expected an object of names and values, got a ${type}`);
}

/** Restarts an experiment as a new record. Without input, the request has no body. */
export const restart =
  (endpoint: Command<RunAddress, ExperimentRecord, Revision | undefined>, description: string): AddMutation =>
  (mutation) => {
    const type = clonePayload(mutation, Experiment);
    builder.mutationField(mutation, (t) =>
      t.field({
        type,
        description,
        args: {
          ...withId(Experiment),
          input: t.arg({ type: RestartExperimentInput, description: "Changes for the new run." }),
        },
        resolve: async (_, { id, input }, context) => {
          const { session } = context;
          checkDeclarations(input?.declarations);
          const source = await targetOf(Experiment.kind, id, context);
          const given = Object.entries(input ?? {}).filter(([, value]) => value !== null);
          const body = bodyOf(session.server.profile.inputs.restart, Object.fromEntries(given));
          const isEmpty = Object.keys(body).length === 0;
          const record = await session.send(endpoint, source.address, isEmpty ? undefined : body);
          return { source, result: cloned(source, record) };
        },
      }),
    );
  };
