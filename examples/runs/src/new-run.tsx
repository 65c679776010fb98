import { type FormEvent, useId, useRef } from "react";
import { useMutation } from "urql";
import { stringify } from "yaml";
import { projectOf, runHref } from "./address.ts";
import { Trouble } from "./errors.tsx";
import { tagsIn } from "./format.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { Button } from "./parts.tsx";

const newRunFragment = graphql(`
  fragment NewRun on Experiment {
    id
    uniqueName
    tags
    config {
      raw
    }
    parameters {
      name
      value
    }
  }
`);

const startMutation = graphql(`
  mutation StartRun($project: ID!, $input: CreateExperimentInput!) {
    createExperiment(project: $project, input: $input) {
      experiment {
        id
        uniqueName
      }
    }
  }
`);

/** The specification for editing: a text as it is, an object as YAML without the parameters, which have fields of their own. */
function specificationOf(raw: unknown, hasFields: boolean): string {
  if (typeof raw === "string") return raw;
  // Safe: a configuration is a text or an object.
  const { version = 1, declarations, ...sections } = (raw ?? {}) as Record<string, unknown>;
  const all = {
    version,
    kind: "experiment",
    ...(!hasFields && declarations ? { declarations } : {}),
    ...sections,
  };
  // The service reads YAML 1.1, in which `no` is a boolean.
  return stringify(all, { version: "1.1", compat: "core", lineWidth: 0 });
}

const writtenOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** The typed value: a text if the parameter was one, else parsed as JSON if possible, such as a number or a list. */
function valueOf(text: string, before: unknown): unknown {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** A button and a dialog that start a run in the same project, with an edited copy of the specification. */
export function NewRun({ of }: { of: FragmentType<typeof newRunFragment> }) {
  const { uniqueName, tags, config, parameters } = readFragment(newRunFragment, of);
  const [{ fetching, error }, start] = useMutation(startMutation);
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const textOf = (name: string) => String(given.get(name));
    const newTags = tagsIn(textOf("tags"));
    const typed = (parameters ?? []).flatMap(({ name, value: before }) => {
      const text = textOf(`parameter.${name}`);
      // A specification that was written as text contains the parameters, and they may have been edited there.
      const isSame = typeof config?.raw === "string" && text === writtenOf(before);
      return isSame ? [] : { name, value: valueOf(text, before) };
    });
    const { data } = await start({
      project: projectOf(uniqueName),
      input: {
        specificationText: textOf("specification"),
        name: textOf("name") || undefined,
        // Some servers refuse tags, also an empty list of them.
        ...(newTags.length > 0 && { tags: newTags }),
        ...(typed.length > 0 && { parameters: typed }),
      },
    });
    const run = data?.createExperiment?.experiment;
    // A person who closed the dialog meanwhile stays on the page.
    if (!run || !dialog.current?.open) return;
    dialog.current.close();
    location.hash = runHref(run.uniqueName);
  }

  return (
    <>
      <Button isOff={fetching} onClick={() => dialog.current?.showModal()}>
        New run
      </Button>
      <dialog ref={dialog} aria-labelledby={title} className="panel new-run">
        <form onSubmit={submit}>
          <h2 id={title}>New run like {uniqueName}</h2>
          <label>
            Specification, in YAML
            <textarea
              name="specification"
              rows={12}
              required
              spellCheck={false}
              defaultValue={specificationOf(config?.raw, (parameters ?? []).length > 0)}
            />
          </label>
          <div className="fields">
            <label>
              Name <input name="name" autoComplete="off" />
            </label>
            <label>
              Tags <input name="tags" defaultValue={tags?.join(", ")} />
            </label>
            {parameters?.map(({ name, value }) => (
              <label key={name}>
                {name}
                {/* An empty text stays one. */}
                <input name={`parameter.${name}`} defaultValue={writtenOf(value)} required={value !== ""} />
              </label>
            ))}
          </div>
          <Trouble error={error} />
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
