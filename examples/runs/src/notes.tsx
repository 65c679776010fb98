import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { Button } from "./button.tsx";
import { Trouble } from "./errors.tsx";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { tagsIn } from "./tags.ts";

const notesFragment = graphql(`
  fragment Notes on Experiment {
    id
    description
    tags
  }
`);

/** The returned record updates the cache, and so every place that shows the run. */
const noteMutation = graphql(`
  mutation Note($id: ID!, $input: UpdateRunInput!) {
    updateExperiment(id: $id, input: $input) {
      experiment {
        id
        description
        tags
      }
    }
  }
`);

interface NotesProps {
  readonly of: FragmentType<typeof notesFragment>;
  /** Whether tags can be changed on this server. */
  readonly isTagged: boolean;
}

/** The description and the tags of a run, edited where they stand. */
export function Notes({ of, isTagged }: NotesProps) {
  const { id, description, tags } = readFragment(notesFragment, of);
  const [{ fetching, error }, update] = useMutation(noteMutation);
  // Undefined: not yet. The focus returns to the button from which the editing began.
  const [isEdited, setEdited] = useState<boolean>();

  async function describe(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("description"));
    const { data } = await update({ id, input: { description: text } });
    if (data?.updateExperiment) setEdited(false);
  }

  async function addTag(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const { data } = await update({
      id,
      input: { addTags: [...tagsIn(String(new FormData(form).get("tag")))] },
    });
    if (data?.updateExperiment) form.reset();
  }

  return (
    <section className="notes" aria-label="Notes">
      {isEdited ? (
        <form onSubmit={describe}>
          <input name="description" aria-label="Description" defaultValue={description ?? ""} autoFocus />
          <Button isOff={fetching}>Save</Button>
          <button type="button" onClick={() => setEdited(false)}>
            Cancel
          </button>
        </form>
      ) : (
        <p className="hint">
          {description || "No description."}{" "}
          <button className="plain" autoFocus={isEdited === false} onClick={() => setEdited(true)}>
            Edit
          </button>
        </p>
      )}
      <form onSubmit={addTag}>
        {tags?.map((tag) => (
          <span key={tag} className="tag">
            {tag}
            {isTagged && (
              <Button
                type="button"
                className="plain"
                aria-label={`Remove ${tag}`}
                isOff={fetching}
                onClick={() => void update({ id, input: { removeTags: [tag] } })}
              >
                ×
              </Button>
            )}
          </span>
        ))}
        {isTagged && (
          <>
            <input name="tag" aria-label="New tag" placeholder="New tag" required />
            <Button isOff={fetching}>Add</Button>
          </>
        )}
      </form>
      <Trouble error={error} />
    </section>
  );
}
