import { Duration } from "./duration.tsx";
import { Fact, Moment } from "./fact.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const datesFragment = graphql(`
  fragment Dates on Run {
    id
    createdAt
    startedAt
    finishedAt
    ...Duration
  }
`);

/** When a run was created, started and finished, and how long it took. */
export function Dates({ of }: { of: FragmentType<typeof datesFragment> }) {
  const run = readFragment(datesFragment, of);
  const { createdAt, startedAt, finishedAt } = run;
  return (
    <>
      <Fact name="created">{createdAt && <Moment at={createdAt} />}</Fact>
      <Fact name="started">{startedAt && <Moment at={startedAt} />}</Fact>
      <Fact name="finished">{finishedAt && <Moment at={finishedAt} />}</Fact>
      <Fact name="duration">
        <Duration of={run} />
      </Fact>
    </>
  );
}
