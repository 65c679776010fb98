import { useRef, useState } from "react";
import { hrefOf } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Button, Loading, useFocusWhenLost } from "./parts.tsx";
import { Status } from "./status.tsx";

const startQuery = graphql(`
  query Start($after: String) {
    viewer {
      id
      username
      projects(first: 12, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          uniqueName
          groups(first: 5, order: { by: { field: CREATED_AT } }) {
            totalCount
            nodes {
              id
              uniqueName
              description
              ...Status
            }
          }
        }
      }
    }
  }
`);

/** The user's projects with their newest groups. */
export function Start() {
  const [after, setAfter] = useState<string | null>(null);
  const { data, error, fetching, reload } = useRead({
    query: startQuery,
    variables: { after },
    requestPolicy: "cache-and-network",
  });
  const projects = data?.viewer?.projects;
  const main = useRef<HTMLElement>(null);
  useFocusWhenLost(main, "start");
  return (
    <main className="start" ref={main} tabIndex={-1}>
      <title>Runs</title>
      <div className="heading">
        <h2>{data?.viewer ? `Projects of ${data.viewer.username}` : "Projects"}</h2>
        <a href={hrefOf({ archive: "all" })}>Archive</a>
      </div>
      {!projects && fetching && <Loading what="projects" />}
      <Trouble error={error} data={projects} retry={reload} />
      {projects?.nodes.length === 0 && (
        <p className="hint">You have no projects yet. You can open projects of other users by name.</p>
      )}
      <div className="cards">
        {projects?.nodes.map(({ id, uniqueName, groups }) => (
          <article key={id} className="panel">
            <div className="heading">
              <h3>{uniqueName}</h3>
              <a href={hrefOf({ list: uniqueName })} aria-label={`All runs of ${uniqueName}`}>
                All runs
              </a>
            </div>
            <ul className="groups">
              {groups?.nodes.map((group) => (
                <li key={group.id}>
                  <a href={hrefOf({ list: group.uniqueName })}>
                    <strong>{group.uniqueName}</strong> <span className="hint">{group.description}</span>
                  </a>
                  <Status of={group} />
                </li>
              ))}
            </ul>
            {(groups?.totalCount ?? 0) > 5 && (
              <p className="hint">And {(groups?.totalCount ?? 0) - 5} older groups.</p>
            )}
          </article>
        ))}
      </div>
      {projects?.pageInfo.hasNextPage && (
        <Button isOff={fetching} onClick={() => setAfter(projects.pageInfo.endCursor)}>
          More projects
        </Button>
      )}
      <OpenByName />
    </main>
  );
}

/** Opens a project or group by name, for public projects of other users and for servers without lists. */
const OpenByName = () => (
  <form action={(given) => void (location.hash = hrefOf({ list: String(given.get("name")).trim() }))}>
    <input name="name" aria-label="Another project or group" placeholder="owner.project.1" required />
    <button>Open</button>
  </form>
);
