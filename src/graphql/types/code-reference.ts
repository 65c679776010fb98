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
    branch: t.string({ description: "Branch.", resolve: ({ branch }) => branch || null }),
    commit: t.string({ description: "Commit that ran.", resolve: ({ commit }) => commit || null }),
    isDirty: t.boolean({
      description: "Whether there were uncommitted changes.",
      resolve: ({ is_dirty }) => is_dirty ?? null,
    }),
    url: t.string({
      description: "URL of the external repository.",
      resolve: ({ git_url }) => git_url || null,
    }),
  }),
});

const endpoint = runs.experiment.optional.codeReference;

/** The field `codeReference` of an experiment. */
export const codeReference = {
  type: CodeReference,
  description: `Version of its code, which takes a request of its own.${requires(endpoint)}`,
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
