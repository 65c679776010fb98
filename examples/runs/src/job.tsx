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
import { WatchRun } from "./watch-run.tsx";

const jobQuery = graphql(`
  query Job($id: ID!) {
    gateway {
      capabilities
    }
    job(id: $id) {
      id
      description
      isFinished
      status
      logsUrl
      nodeScheduled {
        id
        name
      }
      buildJob {
        id
        uniqueName
      }
      ...Status
      ...Dates
      ...NewRun
    }
  }
`);

/** A job that runs on its own: its status, where it runs, and its log. */
export function Job({ name, address }: { name: string; address: Address }) {
  const [{ data, error, fetching }, read] = useQuery({ query: jobQuery, variables: { id: name } });
  const job = data?.job;
  const { nodeScheduled: machine, buildJob: build } = job ?? {};
  const reload = () => read({ requestPolicy: "network-only" });
  useOnChange(job?.status, reload);
  return (
    <Sheet name={name}>
      <section className="panel" aria-labelledby="job">
        <h2 id="job">
          {name} {job && <Status of={job} />}
        </h2>
        {!job && fetching && <Loading what={name} lines={4} />}
        {!fetching && <Trouble error={error} data={job} retry={reload} />}
        {job && (
          <>
            {!job.isFinished && <WatchRun key={job.id} id={job.id} />}
            {job.description && <p className="hint">{job.description}</p>}
            <dl className="facts">
              <Dates of={job} />
              <Fact name="machine">
                {machine && (
                  <a href={hrefOf({ ...address, job: undefined, machine: machine.name })}>{machine.name}</a>
                )}
              </Fact>
              <Fact name="build">
                {build && (
                  <a href={hrefOf({ ...address, job: undefined, build: build.uniqueName })}>
                    {build.uniqueName}
                  </a>
                )}
              </Fact>
            </dl>
            <div className="downloads">
              <NewRun of={job} offered={data.gateway.capabilities} />
              <Download url={job.logsUrl} name={`${name}.log`} label="Download log" />
            </div>
          </>
        )}
      </section>
    </Sheet>
  );
}
