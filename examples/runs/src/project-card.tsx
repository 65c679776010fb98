import { hrefOf } from "./address.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { GroupList } from "./group-list.tsx";
import { Name } from "./name.tsx";

const projectCardFragment = graphql(`
  fragment ProjectCard on Project {
    id
    uniqueName
    groups(first: 5, order: { by: { field: CREATED_AT } }) {
      totalCount
      ...GroupList
    }
  }
`);

/** A project and its newest groups. */
export function ProjectCard({ project }: { project: FragmentType<typeof projectCardFragment> }) {
  const { uniqueName, groups } = readFragment(projectCardFragment, project);
  const [owner = ""] = uniqueName.split(".", 1);
  const href = hrefOf({ list: uniqueName });
  return (
    <article className="panel">
      <h3>
        <span>
          <Name of={uniqueName} within={owner} />
        </span>
        <a href={href} aria-label={`All runs of ${uniqueName}`}>
          All runs
        </a>
      </h3>
      {groups && <GroupList of={groups} />}
      {(groups?.totalCount ?? 0) > 5 && (
        <p className="more">
          <a href={href}>All {groups?.totalCount} groups</a>
        </p>
      )}
    </article>
  );
}
