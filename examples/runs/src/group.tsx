import { useState } from "react";
import { useQuery } from "urql";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";
import { Run } from "./run.tsx";
import { parametersOf, Runs } from "./runs.tsx";
import { Status } from "./status.tsx";

const groupQuery = graphql(`
  query Group($id: ID!) {
    group(id: $id) {
      id
      description
      ...Status
      experiments(first: 12, orderBy: CREATED_DESC) {
        totalCount
        nodes {
          id
          declarations
        }
        ...Runs
      }
    }
  }
`);

export function Group({ name }: { name: string }) {
  const [selected, select] = useState<string>();
  const [{ data, error, fetching }] = useQuery({ query: groupQuery, variables: { id: name } });
  if (fetching) return <p className="hint">Loading…</p>;

  const group = data?.group;
  if (!group) return <Trouble error={error} />;

  const page = group.experiments;
  const parameters = new Set(page?.nodes.flatMap((run) => Object.keys(parametersOf(run.declarations))));
  const table = { group: name, parameters: [...parameters], selected, select };
  return (
    <main>
      <section>
        <h2>
          {name} <Status of={group} />
        </h2>
        <p className="hint">
          {page && `${page.totalCount ?? "Uncounted"} runs. `}
          {group.description}
        </p>
        <Trouble error={error} data={data} />
        <table>
          <thead>
            <tr>
              {["run", "status", ...parameters, "loss", "duration"].map((column) => (
                <th key={column}>{column}</th>
              ))}
            </tr>
          </thead>
          {page && <Runs page={page} table={table} />}
        </table>
      </section>
      <aside>{selected ? <Run key={selected} id={selected} /> : <p className="hint">Select a run.</p>}</aside>
    </main>
  );
}
