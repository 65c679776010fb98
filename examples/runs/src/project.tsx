import { useQuery } from "urql";
import type { Address } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Runs } from "./runs.tsx";
import { orderOf } from "./sort.ts";

const projectQuery = graphql(`
  query Project($owner: String!, $name: String!, $order: RunOrdering!, $later: Boolean! = true) {
    project(owner: $owner, name: $name) {
      id
      uniqueName
      experiments(first: 12, order: $order) {
        ...Runs
      }
    }
  }
`);

/** All runs of a project, in groups or not. */
export function ProjectRuns({ name: uniqueName, address }: { name: string; address: Address }) {
  const [owner = "", name = ""] = uniqueName.split(".");
  const [{ data, error, fetching, operation }, read] = useQuery({
    query: projectQuery,
    variables: { owner, name, order: orderOf(address.sort) },
  });
  const reload = () => read({ requestPolicy: "network-only" });
  const project = data?.project;
  return (
    <>
      <h2>{uniqueName}</h2>
      <p className="hint">All runs of the project.</p>
      {fetching && !project && <Loading what={uniqueName} lines={12} />}
      {!fetching && <Trouble error={error} data={project?.experiments} retry={reload} />}
      {project?.experiments && (
        <Runs
          of={project.id}
          page={project.experiments}
          sort={operation?.variables.order.metric ?? undefined}
          address={address}
          onChange={reload}
        />
      )}
    </>
  );
}
