import { useQuery } from "urql";
import type { Address } from "./address.ts";
import { Counts } from "./counts.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Runs } from "./runs.tsx";
import { orderOf } from "./sort.ts";
import { Status } from "./status.tsx";

const groupQuery = graphql(`
  query Group($id: ID!, $order: RunOrdering!, $later: Boolean! = true) {
    group(id: $id) {
      id
      uniqueName
      description
      ...Status
      ...Counts
      experiments(first: 12, order: $order) {
        ...Runs
      }
    }
  }
`);

/** The runs of a group. */
export function GroupRuns({ name, address }: { name: string; address: Address }) {
  const variables = { id: name, order: orderOf(address.sort) };
  const [{ data, error, fetching, operation }, read] = useQuery({ query: groupQuery, variables });
  const reload = () => read({ requestPolicy: "network-only" });
  const group = data?.group;
  if (!group) {
    return fetching ? <Loading what={name} lines={12} /> : <Trouble error={error} retry={reload} />;
  }
  return (
    <>
      <h2>
        {group.uniqueName} <Status of={group} />
      </h2>
      {group.description && <p className="hint">{group.description}</p>}
      <Counts of={group} />
      <Trouble error={error} data={data} retry={reload} />
      {group.experiments && (
        <Runs
          of={group.id}
          page={group.experiments}
          sort={operation?.variables.order.metric ?? undefined}
          address={address}
          onChange={reload}
        />
      )}
    </>
  );
}
