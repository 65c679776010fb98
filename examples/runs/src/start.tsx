import { type FormEvent, useRef, useState } from "react";
import { useQuery } from "urql";
import { hrefOf } from "./address.ts";
import { Button } from "./button.tsx";
import { Trouble } from "./errors.tsx";
import { useFocusWhenLost } from "./focus.ts";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { ProjectCard } from "./project-card.tsx";

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
          ...ProjectCard
        }
      }
    }
  }
`);

/** The caller's projects with their newest groups. */
export function Start() {
  const [after, setAfter] = useState<string | null>(null);
  const [{ data, error, fetching }, read] = useQuery({
    query: startQuery,
    variables: { after },
    requestPolicy: "cache-and-network",
  });
  const projects = data?.viewer?.projects;
  const retry = () => read({ requestPolicy: "network-only" });
  const main = useRef<HTMLElement>(null);
  useFocusWhenLost(main, "start");
  return (
    <main className="start" ref={main} tabIndex={-1}>
      <title>Runs</title>
      <h2>{data?.viewer ? `Projects of ${data.viewer.username}` : "Projects"}</h2>
      {!projects && fetching && <Loading what="projects" lines={6} />}
      {!fetching && <Trouble error={error} data={projects} retry={retry} />}
      {projects?.nodes.length === 0 && (
        <p className="hint">You have no project yet. Projects of others can be opened by their names.</p>
      )}
      <div className="cards">
        {projects?.nodes.map((project) => (
          <ProjectCard key={project.id} project={project} />
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

function openByName(event: FormEvent<HTMLFormElement>) {
  event.preventDefault();
  const list = String(new FormData(event.currentTarget).get("name")).trim();
  location.hash = hrefOf({ list });
}

/** For what is in no list: public projects of others, and servers without lists. */
function OpenByName() {
  return (
    <form className="open" onSubmit={openByName}>
      <label>
        Another project or group
        <input
          name="name"
          placeholder="owner.project or owner.project.1"
          pattern="\s*[\w\-]+\.[\w\-]+(\.\d+)?\s*"
          title="owner.project, or owner.project.number for a group"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
      </label>
      <button>Open</button>
    </form>
  );
}
