import { useQuery } from "urql";
import type { Address } from "./address.ts";
import { Counts } from "./counts.tsx";
import { isNotOffered, Trouble } from "./errors.tsx";
import { Export } from "./export.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Runs } from "./runs.tsx";
import { isOther, isPlain, readingOf, viewOf } from "./view.ts";
import { Status } from "./status.tsx";

const groupQuery = graphql(`
  query Group(
    $id: ID!
    $first: Int!
    $order: RunOrder!
    $filter: RunFilter
    $values: Boolean!
    $later: Boolean! = true
  ) {
    group(id: $id) {
      id
      uniqueName
      description
      ...Status
      ...Counts
      ...ExportOfGroup
      experiments(first: $first, order: $order, filter: $filter) {
        ...Runs
      }
    }
  }
`);

/** The runs of a group. */
export function GroupRuns({ name, address }: { name: string; address: Address }) {
  const view = viewOf(address);
  const { first, requestPolicy } = readingOf(address);
  const [{ data, error, fetching, operation }, read] = useQuery({
    query: groupQuery,
    variables: { id: name, first, ...view },
    requestPolicy,
  });
  const reload = () => read({ requestPolicy: "network-only" });
  const group = data?.group;
  if (!group) {
    return fetching ? <Loading what={name} lines={12} /> : <Trouble error={error} retry={reload} />;
  }
  const isListless = isNotOffered(error) && isPlain(address);
  return (
    <>
      <h2>
        {group.uniqueName} <Status of={group} />
      </h2>
      {group.description && <p className="hint">{group.description}</p>}
      <Counts of={group} />
      {!isListless && <FilterBar address={address} />}
      <Trouble error={error} data={data} retry={reload} />
      {group.experiments && (
        <Runs
          of={group.id}
          page={group.experiments}
          order={operation?.variables.order ?? view.order}
          isOld={fetching && operation !== undefined && isOther(operation.variables, { first, ...view })}
          address={address}
          onChange={reload}
        />
      )}
      {!isListless && <Export of={{ group }} />}
    </>
  );
}
