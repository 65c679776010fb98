import { hrefOf } from "./address.ts";
import { ago } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Status } from "./status.tsx";

const groupListFragment = graphql(`
  fragment GroupList on GroupConnection {
    nodes {
      id
      uniqueName
      name
      description
      createdAt
      ...Status
    }
  }
`);

/** Groups, each with what it is about, its status and its age. */
export function GroupList({ of }: { of: FragmentType<typeof groupListFragment> }) {
  const { nodes } = readFragment(groupListFragment, of);
  if (nodes.length === 0) return <p className="hint">No groups.</p>;
  return (
    <ul className="groups">
      {nodes.map((group) => (
        <li key={group.id}>
          <a href={hrefOf({ list: group.uniqueName })}>
            <strong>{group.uniqueName}</strong>
            <span className="about">{group.description ?? group.name}</span>
          </a>
          <Status of={group} />
          <time dateTime={group.createdAt ?? undefined}>{ago(group.createdAt)}</time>
        </li>
      ))}
    </ul>
  );
}
