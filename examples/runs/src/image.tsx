import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import type { ImageFragment, Incremental } from "./generated/graphql.ts";

/** The fragment as a deferred one: its fields are there in a later piece of the answer. */
const imageFragment: DocumentTypeDecoration<Incremental<ImageFragment>, object> = graphql(`
  fragment Image on Experiment {
    id
    buildJob {
      id
      commit
    }
  }
`);

/** The commit that a run's image was built from. It comes after the run itself: `…` until then. */
export function Image({ of }: { of: FragmentType<typeof imageFragment> }) {
  const { buildJob } = readFragment(imageFragment, of);
  if (buildJob === undefined) return "…";
  return buildJob?.commit ? <code title={buildJob.commit}>{buildJob.commit.slice(0, 7)}</code> : "–";
}
