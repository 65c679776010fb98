import { useQuery } from "urql";
import { type Address, hrefOf } from "./address.ts";
import { Dates } from "./dates.tsx";
import { Download } from "./downloads.tsx";
import { Trouble } from "./errors.tsx";
import { Fact } from "./fact.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { NewRun } from "./new-run.tsx";
import { useOnChange } from "./on-change.ts";
import { Sheet } from "./sheet.tsx";
import { Status } from "./status.tsx";
import { UsedBy } from "./used-by.tsx";
import { WatchRun } from "./watch-run.tsx";

const buildQuery = graphql(`
  query Build($id: ID!) {
    gateway {
      capabilities
    }
    buildJob(id: $id) {
      id
      uniqueName
      description
      commit
      dockerfile
      isFinished
      status
      experimentCount
      jobCount
      logsUrl
      nodeScheduled {
        id
        name
      }
      ...Status
      ...Dates
      ...NewRun
    }
  }
`);

/** A build job: what was built, where, for how many, and from which Dockerfile. */
export function Build({ name, address }: { name: string; address: Address }) {
  const [{ data, error, fetching }, read] = useQuery({ query: buildQuery, variables: { id: name } });
  const build = data?.buildJob;
  const reload = () => read({ requestPolicy: "network-only" });
  useOnChange(build?.status, reload);
  return (
    <Sheet name={name}>
      <section className="panel" aria-labelledby="build">
        <h2 id="build">
          {name} {build && <Status of={build} />}
        </h2>
        {!build && fetching && <Loading what={name} lines={6} />}
        {!fetching && <Trouble error={error} data={build} retry={reload} />}
        {build && (
          <>
            {!build.isFinished && <WatchRun key={build.id} id={build.id} />}
            {build.description && <p className="hint">{build.description}</p>}
            <dl className="facts">
              <Dates of={build} />
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
              <NewRun of={build} offered={data.gateway.capabilities} />
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
