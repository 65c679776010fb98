import { type FormEvent, useEffect, useEffectEvent, useState } from "react";
import { useClient, useQuery } from "urql";
import { type Address, projectOf, replaceAddress } from "./address.ts";
import { Button } from "./button.tsx";
import { comparedIn, MOST_COMPARED } from "./compare-href.ts";
import { thereOf } from "./compared.ts";
import { Curves } from "./curves.tsx";
import { Differences } from "./differences.tsx";
import { codesOf, Trouble } from "./errors.tsx";
import { LeaveOut } from "./leave-out.tsx";
import { graphql } from "./generated/index.ts";
import { Loading } from "./loading.tsx";
import { Parallel } from "./parallel.tsx";
import { Sheet } from "./sheet.tsx";

const compareQuery = graphql(`
  query Compare($ids: [ID!]!, $maxPoints: Int!) {
    compareExperiments(ids: $ids, onlyDifferences: false) {
      ...Differences
      ...Parallel
      experiments {
        id
        uniqueName
        ...Curves @defer
      }
    }
  }
`);

/** Maximum points of all curves of a metric. More could not be distinguished, and would be slow to draw. */
const POINTS = 12_000;

/** Reads which runs exist: a gateway of version 0.3 compares none if one is missing. */
const presentQuery = (names: readonly string[]) =>
  `query Present { ${names.map((name, at) => `run${at}: experiment(id: ${JSON.stringify(name)}) { id }`).join(" ")} }`;

/** The runs that can be compared, and the unreadable ones, which are looked up once a comparison has failed. */
function usePresent(names: readonly string[]) {
  const client = useClient();
  const key = names.join(",");
  const [{ of, missing }, setMissing] = useState<{ of: string; missing: readonly string[] }>({
    of: "",
    missing: [],
  });
  const look = async () => {
    const { data } = await client
      .query<Record<string, object | null>>(presentQuery(names), {}, { requestPolicy: "network-only" })
      .toPromise();
    setMissing({ of: key, missing: names.filter((_name, at) => data?.[`run${at}`] === null) });
  };
  const absent = of === key ? missing : [];
  return { ids: names.filter((name) => !absent.includes(name)), absent, look };
}

/** Differences between runs, their curves, and the relation of their parameters to a metric. */
export function Compare({ address }: { address: Address }) {
  const names = comparedIn(address);
  const { ids, absent, look } = usePresent(names);
  const maxPoints = Math.max(50, Math.min(500, Math.floor(POINTS / names.length)));
  const [{ data, error, fetching }, read] = useQuery({
    query: compareQuery,
    variables: { ids, maxPoints },
    requestPolicy: "cache-and-network",
    // A single run cannot be compared: the page prompts for another.
    pause: ids.length < 2,
  });
  const comparison = ids.length < 2 ? undefined : data?.compareExperiments;
  const runs = thereOf(comparison?.experiments ?? []);
  const lost = comparison && runs.length < ids.length ? ids : [];
  const missing = [...absent, ...lost.filter((name) => !runs.some((run) => run.uniqueName === name))];
  const count = names.length - missing.length;
  const isOnlyMissing = missing.length > 0 && codesOf(error).every((code) => code === "NOT_FOUND");
  const isMissed = codesOf(error).some((code) => code === "NOT_FOUND" || code === "BAD_USER_INPUT");
  const isBroken = !comparison && !fetching && absent.length === 0 && isMissed;
  const onBroken = useEffectEvent(look);
  useEffect(() => {
    if (isBroken) void onBroken();
  }, [isBroken]);
  const reload = () => read({ requestPolicy: "network-only" });
  return (
    <Sheet name={`${count} runs compared`}>
      <div className="heading">
        <h2>{count === 1 ? "One run" : `${count} runs`} compared</h2>
        <Button isOff={fetching} onClick={reload}>
          Read again
        </Button>
      </div>
      {!fetching && !isOnlyMissing && <Trouble error={error} data={comparison} retry={reload} />}
      {missing.length > 0 && (
        <div role="alert" className="note">
          <p>Not compared, because there is no such run:</p>
          <Asked names={missing} all={names} address={address} />
        </div>
      )}
      {!comparison && !fetching && <Asked names={ids} all={names} address={address} />}
      {!comparison && fetching && <Loading what="the comparison" lines={10} />}
      {comparison && (
        <>
          <Curves of={runs} names={runs.map(({ uniqueName }) => uniqueName)} address={address} />
          <Differences of={comparison} address={address} />
          <Parallel key={address.compare} of={comparison} address={address} />
        </>
      )}
      <AddRun names={names} address={address} />
    </Sheet>
  );
}

/** The requested runs when they cannot be compared: one of them may be gone. */
function Asked({
  names,
  all,
  address,
}: {
  names: readonly string[];
  all: readonly string[];
  address: Address;
}) {
  return (
    <ul>
      {names.map((name) => (
        <li key={name}>
          {name} <LeaveOut name={name} names={all} address={address} />
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
