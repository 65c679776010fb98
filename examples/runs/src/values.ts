import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { Incremental, RunValuesFragment } from "./generated/graphql.ts";

/** The fragment as a deferred one: its fields are there in a later piece of the answer, if they are asked for. */
const runValuesFragment: DocumentTypeDecoration<Incremental<RunValuesFragment>, object> = graphql(`
  fragment RunValues on Experiment {
    id
    metricSummaries {
      name
      smallest: min {
        value
      }
      largest: max {
        value
      }
    }
  }
`);

/** The smallest and the largest value of each metric of a run. */
export const extremesOf = (of: FragmentType<typeof runValuesFragment> | null) =>
  Object.fromEntries(
    (readFragment(runValuesFragment, of)?.metricSummaries ?? []).map(({ name, smallest, largest }) => [
      name,
      { smallest: smallest?.value ?? null, largest: largest?.value ?? null },
    ]),
  );
