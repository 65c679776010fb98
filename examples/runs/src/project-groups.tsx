import { useState } from "react";
import { useQuery } from "urql";
import { Button } from "./button.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { GroupList } from "./group-list.tsx";
import { Loading } from "./loading.tsx";

const groupsQuery = graphql(`
  query ProjectGroups($project: ID!, $first: Int!) {
    project(id: $project) {
      id
      groups(first: $first, order: { by: { field: CREATED_AT } }) {
        pageInfo {
          hasNextPage
        }
        ...GroupList
      }
    }
  }
`);

const PAGE = 20;

/** The groups of a project, read once they are asked for. */
export function ProjectGroups({ project }: { project: string }) {
  const [isOpen, setOpen] = useState(false);
  const [first, setFirst] = useState(PAGE);
  const [{ data, error, fetching }, read] = useQuery({
    query: groupsQuery,
    variables: { project, first },
    pause: !isOpen,
  });
  const groups = data?.project?.groups;
  const retry = () => read({ requestPolicy: "network-only" });
  return (
    <details className="choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Groups</summary>
      {fetching && !data && <Loading what="groups" lines={3} />}
      {!fetching && <Trouble error={error} data={groups} retry={retry} />}
      {groups && <GroupList of={groups} />}
      {groups?.pageInfo.hasNextPage && (
        <Button isOff={fetching} onClick={() => setFirst(first + PAGE)}>
          More groups
        </Button>
      )}
    </details>
  );
}
