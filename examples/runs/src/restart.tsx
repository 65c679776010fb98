import { type FormEvent, useId, useRef } from "react";
import { useMutation } from "urql";
import { hrefOf, projectOf } from "./address.ts";
import { Button } from "./button.tsx";
import { Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { ParameterFields, typedIn } from "./parameter-fields.tsx";
import { parametersOf } from "./parameters.ts";

const restartableFragment = graphql(`
  fragment Restartable on Experiment {
    id
    uniqueName
    parameters {
      name
      value
    }
  }
`);

const restartMutation = graphql(`
  mutation Restart($id: ID!, $input: RestartExperimentInput) {
    restartExperiment(id: $id, input: $input) {
      experiment {
        id
        uniqueName
      }
    }
  }
`);

interface RestartProps {
  readonly of: FragmentType<typeof restartableFragment>;
  /** Whether the server restarts runs only as they were. */
  readonly isFixed: boolean;
}

/** Restarts a run as a new one, after asking, with other parameters if they are changed. */
export function Restart({ of, isFixed }: RestartProps) {
  const { id, uniqueName, parameters: given } = readFragment(restartableFragment, of);
  const [restarted, restart] = useMutation(restartMutation);
  const question = useRef<HTMLDialogElement>(null);
  const title = useId();
  const parameters = isFixed ? {} : parametersOf(given);
  const started = restarted.data?.restartExperiment?.experiment;

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    question.current?.close();
    const typed = typedIn(new FormData(event.currentTarget), { of: parameters });
    const isChanged = typed.some((each) => each.isChanged);
    const all = typed.map(({ name, value }) => ({ name, value }));
    void restart({ id, input: isChanged ? { parameters: all } : null });
  }

  return (
    <>
      <Button isOff={restarted.fetching} onClick={() => question.current?.showModal()}>
        Restart
      </Button>
      <p role="status">
        {restarted.fetching && "Restarting…"}
        {started && (
          <>
            Started{" "}
            <a href={hrefOf({ list: projectOf(started.uniqueName), run: started.uniqueName })}>
              {started.uniqueName}
            </a>
          </>
        )}
      </p>
      <Trouble error={restarted.error} />
      <dialog ref={question} aria-labelledby={title} className="panel">
        <form onSubmit={submit}>
          <h2 id={title}>Restart {uniqueName}?</h2>
          <p>It becomes a run of its own, with {isFixed ? "the same" : "these"} parameters.</p>
          <ParameterFields of={parameters} />
          <div className="choices">
            <button type="button" onClick={() => question.current?.close()}>
              Cancel
            </button>
            <button className="primary">Start it</button>
          </div>
        </form>
      </dialog>
    </>
  );
}
