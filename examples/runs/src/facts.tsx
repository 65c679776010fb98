import { type Address, hrefOf, projectOf } from "./address.ts";
import { Code } from "./code.tsx";
import { Duration } from "./duration.tsx";
import { Fact, Moment } from "./fact.tsx";
import type { Capability } from "./generated/graphql.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Notes } from "./notes.tsx";
import { parametersOf, textOf } from "./parameters.ts";

const factsFragment = graphql(`
  fragment Facts on Experiment {
    id
    parameters {
      name
      value
    }
    startedAt
    cloningStrategy
    original {
      id
      uniqueName
    }
    buildJob {
      id
      uniqueName
    }
    ...Duration
    ...Notes
  }
`);

/** Words for the origin of a run, by cloning strategy. */
const ORIGINS: Readonly<Record<string, string>> = {
  RESTART: "restarted from",
  RESUME: "resumed from",
  COPY: "copied from",
};

interface FactsProps {
  readonly of: FragmentType<typeof factsFragment>;
  readonly address: Address;
  /** Capabilities of the server. */
  readonly offered: readonly Capability[];
}

/** The properties of a run in words and numbers. */
export function Facts({ of, address, offered }: FactsProps) {
  const run = readFragment(factsFragment, of);
  const { id, parameters, startedAt, cloningStrategy, original, buildJob } = run;
  return (
    <>
      <Notes of={run} isTagged={offered.includes("UPDATE_TAGS")} />
      <dl className="facts">
        {Object.entries(parametersOf(parameters)).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{textOf(value)}</dd>
          </div>
        ))}
        <div>
          <dt>started</dt>
          <dd>{startedAt ? <Moment at={startedAt} /> : "not yet"}</dd>
        </div>
        <div>
          <dt>duration</dt>
          <dd>
            <Duration of={run} />
          </dd>
        </div>
        {original && (
          <div>
            <dt>{ORIGINS[cloningStrategy ?? ""] ?? "cloned from"}</dt>
            <dd>
              <a href={hrefOf({ list: projectOf(original.uniqueName), run: original.uniqueName })}>
                {original.uniqueName}
              </a>
            </dd>
          </div>
        )}
        <Fact name="build">
          {buildJob && <a href={hrefOf({ ...address, build: buildJob.uniqueName })}>{buildJob.uniqueName}</a>}
        </Fact>
        <Code id={id} />
      </dl>
    </>
  );
}
