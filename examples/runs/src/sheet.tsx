import { type ReactNode, useRef } from "react";
import { useFocusWhenLost } from "./focus.ts";

/** A page of its own: with its title, and the focus when it opens. */
export function Sheet({ name, children }: { name: string; children: ReactNode }) {
  const main = useRef<HTMLElement>(null);
  useFocusWhenLost(main, name);
  return (
    <main className="sheet" ref={main} tabIndex={-1}>
      <title>{`${name} – Runs`}</title>
      {children}
    </main>
  );
}
