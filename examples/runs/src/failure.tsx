import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";

const failureQuery = graphql(`
  query Failure($id: ID!) {
    experiment(id: $id) {
      id
      latestStatus {
        id
        message
        traceback
      }
    }
  }
`);

/** Why a run failed: the message of its last status, and where its code broke off. */
export function Failure({ id }: { id: string }) {
  const [{ data, error }] = useQuery({ query: failureQuery, variables: { id } });
  const last = data?.experiment?.latestStatus;
  if (error) return <Trouble error={error} data={data} />;
  if (!last?.message && !last?.traceback) return null;
  return (
    <section className="failure" data-phase="FAILED" aria-label="Why it failed">
      <p>{last.message}</p>
      {last.traceback && (
        <details>
          <summary>Traceback</summary>
          <pre tabIndex={0}>{last.traceback}</pre>
        </details>
      )}
    </section>
  );
}
