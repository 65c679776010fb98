import { useQuery } from "urql";
import { graphql } from "./generated/index.ts";

const codeQuery = graphql(`
  query Code($id: ID!) {
    experiment(id: $id) {
      id
      codeReference {
        branch
        commit
        isDirty
      }
    }
  }
`);

/** Characters of a commit that are shown. */
const SHORT = 8;

/** The code of a run. It has its own query, because not every server offers it; without an answer nothing is shown. */
export function Code({ id }: { id: string }) {
  const [{ data }] = useQuery({ query: codeQuery, variables: { id } });
  const code = data?.experiment?.codeReference;
  if (!code) return null;
  const { branch, commit, isDirty } = code;
  return (
    <div>
      <dt>code</dt>
      <dd title={commit ?? undefined}>
        {branch} <code>{commit?.slice(0, SHORT)}</code>
        {isDirty && " with uncommitted changes"}
      </dd>
    </div>
  );
}
