import { hrefOf } from "./address.ts";
import { ago } from "./clock.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Name } from "./name.tsx";
import { Status } from "./status.tsx";

const projectCardFragment = graphql(`
  fragment ProjectCard on Project {
    uniqueName
    groups(first: 5, order: { field: CREATED, direction: DESC }) {
      totalCount
      nodes {
        id
        uniqueName
        name
        description
        createdAt
        ...Status
      }
    }
  }
`);

/** A project and its newest groups. */
export function ProjectCard({ project }: { project: FragmentType<typeof projectCardFragment> }) {
  const { uniqueName, groups } = readFragment(projectCardFragment, project);
  const [owner = ""] = uniqueName.split(".", 1);
  return (
    <article className="panel">
      <h3>
        <span>
          <Name of={uniqueName} within={owner} />
        </span>
        <a href={hrefOf({ list: uniqueName })} aria-label={`All runs of ${uniqueName}`}>
          All runs
        </a>
      </h3>
      {groups?.nodes.length === 0 && <p className="hint">No groups.</p>}
      {groups && groups.nodes.length > 0 && (
        <ul>
          {groups.nodes.map((group) => (
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
      )}
      {(groups?.totalCount ?? 0) > 5 && <p className="hint">The newest 5 of {groups?.totalCount} groups.</p>}
    </article>
  );
}
