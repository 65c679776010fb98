import { useState } from "react";
import { useQuery } from "urql";
import { type Address, hrefOf } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Status } from "./status.tsx";

const jobsQuery = graphql(`
  query ProjectJobs($project: ID!) {
    project(id: $project) {
      id
      jobs(first: 20, order: { by: { field: CREATED_AT } }) {
        totalCount
        nodes {
          id
          uniqueName
          ...Status
        }
      }
    }
  }
`);

/** The newest jobs of a project, read once they are asked for. */
export function ProjectJobs({ project, address }: { project: string; address: Address }) {
  const [isOpen, setOpen] = useState(false);
  const [{ data, error, fetching }] = useQuery({
    query: jobsQuery,
    variables: { project },
    // The cache does not know of jobs that were started since.
    requestPolicy: "cache-and-network",
    pause: !isOpen,
  });
  const jobs = data?.project?.jobs;
  const more = (jobs?.totalCount ?? 0) - (jobs?.nodes.length ?? 0);
  return (
    <details className="choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Jobs</summary>
      {fetching && !data && <Loading what="jobs" lines={3} />}
      {!fetching && <Trouble error={error} data={jobs} />}
      <ul className="used-by">
        {jobs?.nodes.map((job) => (
          <li key={job.id}>
            <a href={hrefOf({ ...address, job: job.uniqueName })}>{job.uniqueName}</a> <Status of={job} />
          </li>
        ))}
      </ul>
      {jobs?.nodes.length === 0 && <p className="hint">No jobs.</p>}
      {more > 0 && <p className="hint">And {more} more.</p>}
    </details>
  );
}
