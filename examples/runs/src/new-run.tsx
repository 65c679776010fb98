import { type FormEvent, useId, useRef, useState } from "react";
import { useMutation } from "urql";
import { stringify } from "yaml";
import { hrefOf, projectOf, useAddress } from "./address.ts";
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

/** The specification to edit. A text is unchanged. An object is written as YAML, without the parameters if they have fields. */
function specificationOf(raw: unknown, hasFields: boolean): string {
  if (typeof raw === "string") return raw;
  // Safe: a configuration is a text, an object or null.
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

/** Parses a typed value. It stays a text if the parameter was one or if it is no JSON, such as a number or a list. */
function valueOf(text: string, before: unknown): unknown {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Matches a parameter with its value in a command, such as `--lr=0.1` or `--learning-rate 0.1`. */
function argumentOf(name: string, value: string): RegExp {
  const [named, valued] = [name, value].map((text) => text.replace(/\W/g, "\\$&"));
  return new RegExp(`(?<![\\w-])-*${named?.replace(/_/g, "[-_]")}[= ]["']?${valued}(?![\\w.-])`);
}

/** A button and a dialog that start a run in the same project, with an edited copy of the specification. */
export function NewRun({ of }: { of: FragmentType<typeof newRunFragment> }) {
  const address = useAddress();
  const { uniqueName, tags, config, parameters } = readFragment(newRunFragment, of);
  const [{ fetching, error }, start] = useMutation(startMutation);
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [specification, setSpecification] = useState(() =>
    specificationOf(config?.raw, (parameters ?? []).length > 0),
  );
  const [changed, setChanged] = useState<Readonly<Record<string, string>>>({});
  // Arguments of the command that still have the old value.
  const outdated = (parameters ?? []).flatMap(({ name, value }) => {
    const [before, now] = [writtenOf(value), changed[name] ?? writtenOf(value)];
    const argument = argumentOf(name, before);
    const [found] = (before !== now && before && argument.exec(specification)) || [];
    const next = `${found?.slice(0, -before.length)}${now}`;
    return found ? [{ found, next, text: specification.replace(argument, () => next) }] : [];
  });

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const textOf = (name: string) => String(given.get(name));
    const newTags = tagsIn(textOf("tags"));
    const typed = (parameters ?? []).flatMap(({ name, value: before }) => {
      const text = textOf(`parameter.${name}`);
      // A specification that was written as text contains the parameters. They may have been edited there.
      const isSame = typeof config?.raw === "string" && text === writtenOf(before);
      return isSame ? [] : { name, value: valueOf(text, before) };
    });
    const { data } = await start({
      project: projectOf(uniqueName),
      input: {
        specificationText: textOf("specification"),
        name: textOf("name") || undefined,
        // Some servers reject tags, even an empty list of them.
        ...(newTags.length > 0 && { tags: newTags }),
        ...(typed.length > 0 && { parameters: typed }),
      },
    });
    const run = data?.createExperiment?.experiment;
    // If the dialog was closed meanwhile, the page stays where it is.
    if (!run || !dialog.current?.open) return;
    dialog.current.close();
    location.hash = hrefOf({ ...address, list: projectOf(uniqueName), run: run.uniqueName, show: undefined });
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
              value={specification}
              onChange={({ currentTarget }) => setSpecification(currentTarget.value)}
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
                {/* A text parameter that is empty may stay empty. */}
                <input
                  name={`parameter.${name}`}
                  defaultValue={writtenOf(value)}
                  required={value !== ""}
                  onChange={({ currentTarget }) => setChanged({ ...changed, [name]: currentTarget.value })}
                />
              </label>
            ))}
          </div>
          {outdated.map(({ found, next, text }) => (
            <p key={found} className="note" role="status">
              The specification still has {found}.
              <button type="button" onClick={() => setSpecification(text)}>
                Replace it with {next}
              </button>
            </p>
          ))}
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
