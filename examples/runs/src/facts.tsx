import { runHref } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { textOf } from "./format.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useRead } from "./live.tsx";
import { Duration, Fact, Moment } from "./parts.tsx";

const factsFragment = graphql(`
  fragment Facts on Experiment {
    id
    description
    tags
    status
    parameters {
      name
      value
    }
    startedAt
    original {
      id
      uniqueName
    }
    buildJob {
      id
      commit
    }
    jobs {
      nodes {
        id
        nodeScheduled {
          id
          name
        }
      }
    }
    ...Duration
  }
`);

const failureQuery = graphql(`
  query Failure($id: ID!) {
    experiment(id: $id) {
      id
      latestStatus {
        id
        message
        traceback
      }
    }
  }
`);

/** The properties of a run in words and numbers. */
export function Facts({ of }: { of: FragmentType<typeof factsFragment> }) {
  const run = readFragment(factsFragment, of);
  const { id, description, tags, parameters, startedAt, original, buildJob, jobs, status } = run;
  const machines = new Set(jobs?.nodes.flatMap(({ nodeScheduled: node }) => node?.name ?? []));
  return (
    <>
      {status === "FAILED" && <Failure id={id} />}
      {description && <p className="hint">{description}</p>}
      <dl className="facts">
        {parameters?.map(({ name, value }) => (
          <Fact key={name} name={name}>
            {textOf(value)}
          </Fact>
        ))}
        <Fact name="tags">{tags?.join(", ")}</Fact>
        <Fact name="started">{startedAt ? <Moment at={startedAt} /> : "not yet"}</Fact>
        <Fact name="duration">
          <Duration of={run} />
        </Fact>
        <Fact name="cloned from">
          {original && <a href={runHref(original.uniqueName)}>{original.uniqueName}</a>}
        </Fact>
        <Fact name="commit">{buildJob?.commit?.slice(0, 8)}</Fact>
        <Fact name="machine">{[...machines].join(", ")}</Fact>
      </dl>
    </>
  );
}

/** Why a run failed: the message of its last status, and where its code broke off. */
function Failure({ id }: { id: string }) {
  const { data, error, reload } = useRead({ query: failureQuery, variables: { id } });
  const last = data?.experiment?.latestStatus;
  return (
    <section className="failure" data-phase="FAILED" aria-label="Why it failed">
      <Trouble error={error} data={data} retry={reload} />
      <p>{last?.message}</p>
      {last?.traceback && (
        <details>
          <summary>Traceback</summary>
          <pre tabIndex={0}>{last.traceback}</pre>
        </details>
      )}
    </section>
  );
}
