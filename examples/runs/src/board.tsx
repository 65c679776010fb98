import { type FormEvent, useSyncExternalStore } from "react";
import { Group } from "./group.tsx";

function onHashChange(act: () => void) {
  addEventListener("hashchange", act);
  return () => removeEventListener("hashchange", act);
}

function openGroup(event: FormEvent<HTMLFormElement>) {
  event.preventDefault();
  location.hash = String(new FormData(event.currentTarget).get("group")).trim();
}

/** The group is the one that the address names, such as `#ada.mnist.1`, so that it can be linked to. */
export function Board({ onSignOut }: { onSignOut: () => void }) {
  const name = useSyncExternalStore(onHashChange, () => location.hash.slice(1) || "ada.mnist.1");
  return (
    <>
      <header>
        <h1>Runs</h1>
        <form key={name} onSubmit={openGroup}>
          <input name="group" aria-label="Group" defaultValue={name} spellCheck={false} />
          <button>Open</button>
        </form>
        <button onClick={onSignOut}>Sign out</button>
      </header>
      <Group key={name} name={name} />
    </>
  );
}
