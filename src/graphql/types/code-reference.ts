import { runs } from "../../rest/api/kinds.ts";
import type { CodeReferenceRecord } from "../../rest/api/records.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { Experiment } from "../core/refs.ts";
import { nullIfMissing } from "../core/resource.ts";

const CodeReference = builder.objectRef<CodeReferenceRecord>("CodeReference").implement({
  description: "The version of the code that an experiment ran.",
  fields: (t) => ({
    branch: t.string({
      description: "Branch. Null if the service does not report it, as with the other fields.",
      resolve: ({ branch }) => branch || null,
    }),
    commit: t.string({
      description: "Commit that the experiment ran: 40 hexadecimal digits.",
      resolve: ({ commit }) => commit || null,
    }),
    head: t.string({
      description: "Head commit of the repository, as the service reports it.",
      resolve: ({ head }) => head || null,
    }),
    isDirty: t.boolean({
      description: "Whether the code had changes that were not committed.",
      resolve: ({ is_dirty }) => is_dirty ?? null,
    }),
    url: t.string({
      description: "URL of an external repository. Null if the service keeps the code itself.",
      resolve: ({ git_url }) => git_url || null,
    }),
  }),
});

const endpoint = runs.experiment.optional.codeReference;

/** The field `codeReference` of an experiment. */
export const codeReference = {
  type: CodeReference,
  description: `Version of the code that the experiment ran. Null if it has none. Costs one upstream request for each experiment.${requires(endpoint)}`,
  ...fieldsOf(Experiment.kind).child(
    async (resource, _, { session }) => {
      const read = session.read(endpoint, resource.address);
      const record = await nullIfMissing(resource, read, session);
      // The service sends empty texts for an experiment without code.
      return record?.branch || record?.commit || record?.head || record?.git_url ? record : null;
    },
    (record) => record !== null,
  ),
};
