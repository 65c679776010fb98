import { useQuery } from "urql";
import { type Address, hrefOf } from "./address.ts";
import { Download } from "./downloads.tsx";
import { Duration } from "./duration.tsx";
import { Trouble } from "./errors.tsx";
import { Fact, Moment } from "./fact.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Sheet } from "./sheet.tsx";
import { Status } from "./status.tsx";
import { UsedBy } from "./used-by.tsx";

const buildQuery = graphql(`
  query Build($id: ID!) {
    buildJob(id: $id) {
      id
      uniqueName
      description
      commit
      dockerfile
      createdAt
      startedAt
      finishedAt
      experimentCount
      jobCount
      logsUrl
      nodeScheduled {
        id
        name
      }
      ...Status
      ...Duration
    }
  }
`);

/** A build job: what was built, where, for how many, and from which Dockerfile. */
export function Build({ name, address }: { name: string; address: Address }) {
  const [{ data, error, fetching }, read] = useQuery({ query: buildQuery, variables: { id: name } });
  const build = data?.buildJob;
  return (
    <Sheet name={name}>
      <section className="panel" aria-labelledby="build">
        <h2 id="build">
          {name} {build && <Status of={build} />}
        </h2>
        {!build && fetching && <Loading what={name} lines={6} />}
        {!fetching && (
          <Trouble error={error} data={build} retry={() => read({ requestPolicy: "network-only" })} />
        )}
        {build && (
          <>
            {build.description && <p className="hint">{build.description}</p>}
            <dl className="facts">
              <Fact name="created">{build.createdAt && <Moment at={build.createdAt} />}</Fact>
              <Fact name="started">{build.startedAt && <Moment at={build.startedAt} />}</Fact>
              <Fact name="finished">{build.finishedAt && <Moment at={build.finishedAt} />}</Fact>
              <Fact name="duration">
                <Duration of={build} />
              </Fact>
              <Fact name="machine">
                {build.nodeScheduled && (
                  <a href={hrefOf({ ...address, build: undefined, machine: build.nodeScheduled.name })}>
                    {build.nodeScheduled.name}
                  </a>
                )}
              </Fact>
              <Fact name="commit">{build.commit && <code>{build.commit}</code>}</Fact>
              <Fact name="image used by">{used(build.experimentCount, build.jobCount)}</Fact>
            </dl>
            <UsedBy build={build.id} />
            {build.dockerfile && (
              <>
                <h3>Dockerfile</h3>
                <pre className="text" tabIndex={0} aria-label="Dockerfile" role="region">
                  {build.dockerfile}
                </pre>
              </>
            )}
            <div className="downloads">
              <Download url={build.logsUrl} name={`${name}.log`} label="Download log" />
            </div>
          </>
        )}
      </section>
    </Sheet>
  );
}

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

function used(runs: number | null, jobs: number | null): string | null {
  const parts = [
    ...(runs === null ? [] : [counted(runs, "run")]),
    ...(jobs === null ? [] : [counted(jobs, "job")]),
  ];
  return parts.length > 0 ? parts.join(", ") : null;
}
