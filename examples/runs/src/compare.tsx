import type { FormEvent } from "react";
import { useQuery } from "urql";
import { type Address, projectOf, replaceAddress } from "./address.ts";
import { comparedIn, MOST_COMPARED } from "./compare-href.ts";
import { Curves } from "./curves.tsx";
import { Differences } from "./differences.tsx";
import { Trouble } from "./errors.tsx";
import { LeaveOut } from "./leave-out.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Parallel } from "./parallel.tsx";
import { Sheet } from "./sheet.tsx";

const compareQuery = graphql(`
  query Compare($ids: [ID!]!, $maxPoints: Int!) {
    compareRuns(ids: $ids, onlyDifferences: false) {
      ...Differences
      ...Parallel
      runs {
        id
        uniqueName
        ...Curves @defer
      }
    }
  }
`);

/** Points of all curves of a metric: more are not told apart, and slow to draw. */
const POINTS = 12_000;

/** What differs between runs, their curves, and how their parameters go with a metric. */
export function Compare({ address }: { address: Address }) {
  const names = comparedIn(address);
  const maxPoints = Math.max(50, Math.min(500, Math.floor(POINTS / names.length)));
  const [{ data, error, fetching }, read] = useQuery({
    query: compareQuery,
    variables: { ids: names, maxPoints },
    requestPolicy: "cache-and-network",
    // One run is compared with nothing: the page asks for another.
    pause: names.length < 2,
  });
  const comparison = data?.compareRuns;
  const reload = () => read({ requestPolicy: "network-only" });
  return (
    <Sheet name={`${names.length} runs compared`}>
      <div className="heading">
        <h2>{names.length === 1 ? "One run" : `${names.length} runs`} compared</h2>
        <button disabled={fetching} onClick={reload}>
          Read again
        </button>
      </div>
      {!fetching && <Trouble error={error} data={comparison} retry={reload} />}
      {!comparison && !fetching && <Asked names={names} address={address} />}
      {!comparison && fetching && <Loading what="the comparison" lines={10} />}
      {comparison && (
        <>
          <Curves
            of={comparison.runs}
            names={comparison.runs.map(({ uniqueName }) => uniqueName)}
            address={address}
          />
          <Differences of={comparison} address={address} />
          <Parallel key={address.compare} of={comparison} address={address} />
        </>
      )}
      <AddRun names={names} address={address} />
    </Sheet>
  );
}

/** What was asked for, where it cannot be compared: one of them may be gone. */
function Asked({ names, address }: { names: readonly string[]; address: Address }) {
  return (
    <ul>
      {names.map((name) => (
        <li key={name}>
          {name} <LeaveOut name={name} names={names} address={address} />
        </li>
      ))}
    </ul>
  );
}

/** Compares one run more. */
function AddRun({ names, address }: { names: readonly string[]; address: Address }) {
  function add(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get("name")).trim();
    replaceAddress({ ...address, compare: [...names, name].join(",") });
    form.reset();
  }
  if (names.length >= MOST_COMPARED)
    return <p className="hint">More than {MOST_COMPARED} runs are not compared at once.</p>;
  const project = projectOf(names[0] ?? "ada.mnist");
  return (
    <form className="open" onSubmit={add}>
      <label>
        Another run
        <input
          name="name"
          placeholder={`${project}.42`}
          pattern="\s*[\w\-]+\.[\w\-]+(\.\d+){1,2}\s*"
          title="owner.project.number, or owner.project.group.number"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
      </label>
      <button>Compare</button>
    </form>
  );
}
