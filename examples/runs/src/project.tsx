import { useQuery } from "urql";
import type { Address } from "./address.ts";
import { isNotOffered, Trouble } from "./errors.tsx";
import { Export } from "./export.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { ProjectGroups } from "./project-groups.tsx";
import { ProjectJobs } from "./project-jobs.tsx";
import { Runs } from "./runs.tsx";
import { isOther, isPlain, readingOf, viewOf } from "./view.ts";

const projectQuery = graphql(`
  query Project(
    $id: ID!
    $first: Int!
    $order: RunOrder!
    $filter: RunFilter
    $values: Boolean!
    $later: Boolean! = true
  ) {
    project(id: $id) {
      id
      uniqueName
      ...ExportOfProject
      experiments(first: $first, order: $order, filter: $filter) {
        ...Runs
      }
    }
  }
`);

/** All runs of a project, in groups or not. */
export function ProjectRuns({ name: uniqueName, address }: { name: string; address: Address }) {
  const view = viewOf(address);
  const { first, requestPolicy } = readingOf(address);
  const [{ data, error, fetching, operation }, read] = useQuery({
    query: projectQuery,
    variables: { id: uniqueName, first, ...view },
    requestPolicy,
  });
  const reload = () => read({ requestPolicy: "network-only" });
  const project = data?.project;
  const isListless = isNotOffered(error) && isPlain(address);
  return (
    <>
      <h2>{uniqueName}</h2>
      <p className="hint">All runs of the project.</p>
      <ProjectGroups project={uniqueName} />
      <ProjectJobs project={uniqueName} address={address} />
      {!isListless && <FilterBar address={address} />}
      {fetching && !project && <Loading what={uniqueName} lines={12} />}
      {!fetching && <Trouble error={error} data={project?.experiments} retry={reload} />}
      {project?.experiments && (
        <Runs
          of={project.id}
          page={project.experiments}
          order={operation?.variables.order ?? view.order}
          isOld={fetching && operation !== undefined && isOther(operation.variables, { first, ...view })}
          address={address}
          onChange={reload}
        />
      )}
      {project && !isListless && <Export of={{ project }} />}
    </>
  );
}
