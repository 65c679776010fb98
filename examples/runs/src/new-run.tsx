import { type FormEvent, type ReactNode, useId, useRef } from "react";
import { type CombinedError, type TypedDocumentNode, useMutation } from "urql";
import { hrefOf, projectOf } from "./address.ts";
import { Button } from "./button.tsx";
import { codesOf, Trouble } from "./errors.tsx";
import type { Capability, CreateExperimentInput, NewRunFragment } from "./generated/graphql.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { ParameterFields, typedIn } from "./parameter-fields.tsx";
import { parametersOf } from "./parameters.ts";
import { tagsIn } from "./tags.ts";
import { yamlOf } from "./yaml.ts";

const newRunFragment = graphql(`
  fragment NewRun on Run {
    type: __typename
    id
    uniqueName
    tags
    ... on Experiment {
      config {
        raw
      }
      parameters {
        name
        value
      }
    }
    ... on Job {
      config {
        raw
      }
    }
    ... on BuildJob {
      config {
        raw
      }
    }
  }
`);

type Original = Exclude<NewRunFragment, { type: "Group" }>;

interface Started {
  readonly created: { readonly run: { readonly id: string; readonly uniqueName: string } | null } | null;
}

type Start = TypedDocumentNode<Started, { project: string; input: CreateExperimentInput }>;

interface Kind {
  /** As specifications name it. */
  readonly name: string;
  readonly start: Start;
  /** The page of a run. */
  readonly hrefOf: (uniqueName: string) => string;
}

const KINDS: Readonly<Record<Original["type"], Kind>> = {
  Experiment: {
    name: "experiment",
    start: graphql(`
      mutation StartExperiment($project: ID!, $input: CreateExperimentInput!) {
        created: createExperiment(project: $project, input: $input) {
          run: experiment {
            id
            uniqueName
          }
        }
      }
    `),
    hrefOf: (run) => hrefOf({ list: projectOf(run), run }),
  },
  Job: {
    name: "job",
    start: graphql(`
      mutation StartJob($project: ID!, $input: CreateJobInput!) {
        created: createJob(project: $project, input: $input) {
          run: job {
            id
            uniqueName
          }
        }
      }
    `),
    hrefOf: (job) => hrefOf({ list: projectOf(job), job }),
  },
  BuildJob: {
    name: "build",
    start: graphql(`
      mutation StartBuildJob($project: ID!, $input: CreateBuildJobInput!) {
        created: createBuildJob(project: $project, input: $input) {
          run: buildJob {
            id
            uniqueName
          }
        }
      }
    `),
    hrefOf: (build) => hrefOf({ list: projectOf(build), build }),
  },
};

const FIELDS = ["specification", "name", "tags", "parameters"] as const;
type Field = (typeof FIELDS)[number];

interface Problem {
  readonly field: Field;
  readonly text: string;
  readonly code: string | undefined;
}

/** The problem of one field. The gateway names the argument in its message, the service its own key. Undefined for other errors. */
function problemOf(error: CombinedError | undefined): Problem | undefined {
  const [told] = error?.graphQLErrors ?? [];
  const { message = "" } = told ?? {};
  const [code] = codesOf(error);
  if (code !== "BAD_USER_INPUT" && code !== "CAPABILITY_UNAVAILABLE") return undefined;
  const [, name] = /`(\w+)` as input/.exec(message) ?? /^(?:input\.)?(\w+)[[\]\d]*: /.exec(message) ?? [];
  if (name === undefined) return undefined;
  const field = name === "declarations" ? "parameters" : FIELDS.find((each) => each === name);
  const text = message.replace(/^[\w.[\]]+: /, "");
  return { field: field ?? "specification", text: `${text.charAt(0).toUpperCase()}${text.slice(1)}`, code };
}

/** Moves the caret of a field to the line and the column that a message names. */
function showPlace(field: HTMLTextAreaElement | HTMLInputElement, text: string): void {
  const [, line = "", column = ""] = /line (\d+), column (\d+)/.exec(text) ?? [];
  field.focus();
  if (!line) return;
  const before = field.value.split("\n").slice(0, Number(line) - 1);
  const at = before.reduce((sum, each) => sum + each.length + 1, Number(column) - 1);
  field.setSelectionRange(at, at);
}

/** The specification for editing: a text as it is, an object as YAML without the parameters that have fields of their own. */
function specificationOf(raw: unknown, kind: string, isApart: boolean): string {
  if (typeof raw === "string") return raw;
  // Safe: a configuration is a text or an object.
  const { version = 1, declarations, ...sections } = (raw ?? {}) as Record<string, unknown>;
  return yamlOf({ version, kind, ...(!isApart && declarations ? { declarations } : {}), ...sections });
}

interface NewRunProps {
  readonly of: FragmentType<typeof newRunFragment>;
  /** Capabilities of the server. */
  readonly offered: readonly Capability[];
}

/** A button and a dialog that start a run of the same kind in the same project, with an edited copy of the specification. */
export function NewRun({ of, offered }: NewRunProps) {
  const run = readFragment(newRunFragment, of);
  if (run.type === "Group" || !offered.includes("CREATE_RUNS")) return null;
  return <NewRunDialog key={run.id} original={run} />;
}

function NewRunDialog({ original }: { original: Original }) {
  const { type, uniqueName, tags, config } = original;
  const kind = KINDS[type];
  const [{ fetching, error, data }, start] = useMutation(kind.start);
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const parameters = "parameters" in original ? parametersOf(original.parameters) : {};
  const hasParameters = Object.keys(parameters).length > 0;
  const isText = typeof config?.raw === "string";
  const problem = fetching ? undefined : problemOf(error);
  const started = data?.created?.run;

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    // A specification that was written as text contains the others, and they may have been edited there.
    const typed = typedIn(given, { of: parameters }).filter(({ isChanged }) => isChanged || !isText);
    const newTags = tagsIn(String(given.get("tags")));
    const outcome = await start({
      project: projectOf(uniqueName),
      input: {
        specificationText: String(given.get("specification")),
        name: String(given.get("name")) || undefined,
        // Some servers refuse tags, also an empty list of them.
        ...(newTags.length > 0 && { tags: [...newTags] }),
        ...(typed.length > 0 && { parameters: typed.map(({ name, value }) => ({ name, value })) }),
      },
    });
    const isOpen = dialog.current?.open;
    const run = outcome.data?.created?.run;
    if (run) {
      dialog.current?.close();
      // A person who closed the dialog meanwhile stays on the page.
      if (isOpen) location.hash = kind.hrefOf(run.uniqueName);
      return;
    }
    const at = problemOf(outcome.error);
    const field = at && form.elements.namedItem(at.field);
    if (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)
      showPlace(field, at?.text ?? "");
  }

  return (
    <>
      <Button isOff={fetching} onClick={() => dialog.current?.showModal()}>
        New run
      </Button>
      <p role="status">
        {fetching && "Starting…"}
        {started && (
          <>
            Started <a href={kind.hrefOf(started.uniqueName)}>{started.uniqueName}</a>
          </>
        )}
      </p>
      <dialog ref={dialog} aria-labelledby={title} className="panel new-run">
        <form onSubmit={submit}>
          <h2 id={title}>New run like {uniqueName}</h2>
          <Labelled name="Specification, in YAML" problem={problem} field="specification">
            {(described) => (
              <textarea
                name="specification"
                rows={12}
                required
                spellCheck={false}
                autoCapitalize="off"
                defaultValue={specificationOf(config?.raw, kind.name, hasParameters)}
                {...described}
              />
            )}
          </Labelled>
          <Labelled name="Name" hint="May be empty." problem={problem} field="name">
            {(described) => <input name="name" autoComplete="off" {...described} />}
          </Labelled>
          <Labelled name="Tags" hint="With commas between them." problem={problem} field="tags">
            {(described) => <input name="tags" defaultValue={tags?.join(", ")} {...described} />}
          </Labelled>
          {hasParameters && (
            <fieldset>
              <legend>Parameters</legend>
              <ParameterFields of={parameters} />
              {problem?.field === "parameters" && <Told problem={problem} />}
            </fieldset>
          )}
          {!fetching && !problem && <Trouble error={error} />}
          <div className="choices">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <Button isOff={fetching} className="primary">
              {fetching ? "Starting…" : "Start"}
            </Button>
          </div>
        </form>
      </dialog>
    </>
  );
}

interface LabelledProps {
  readonly name: string;
  readonly hint?: string;
  readonly field: Field;
  readonly problem: Problem | undefined;
  readonly children: (described: object) => ReactNode;
}

/** A field with its name, and its problem below it. */
function Labelled({ name, hint, field, problem, children }: LabelledProps) {
  const id = useId();
  const isWrong = problem?.field === field;
  return (
    <>
      <label>
        {name}
        {children({ "aria-invalid": isWrong, "aria-describedby": id })}
      </label>
      <div id={id}>
        {hint && <p className="hint">{hint}</p>}
        {isWrong && <Told problem={problem} />}
      </div>
    </>
  );
}

const Told = ({ problem: { text, code } }: { problem: Problem }) => (
  <p role="alert" className="problem" data-phase="FAILED">
    {text} <code>{code}</code>
  </p>
);
