import { type ComponentProps, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";

/** A button that can be off for the moment. It keeps the focus, which browsers take from buttons that are `disabled`. */
export function Button({ isOff, onClick, ...given }: ComponentProps<"button"> & { isOff: boolean }) {
  return (
    <button
      {...given}
      aria-disabled={isOff || undefined}
      onClick={(event) => (isOff ? event.preventDefault() : onClick?.(event))}
    />
  );
}

export const Loading = ({ what }: { what: string }) => (
  <p className="hint" role="status">
    Loading {what}…
  </p>
);

/** A fact with its name; nothing where the service has none. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === "") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const Moment = ({ at }: { at: string }) => <time dateTime={at}>{moment.format(new Date(at))}</time>;

/** A menu over the page: the browser closes it on Escape or a press beside it, and returns the focus. */
export function Menu({ label, children }: { label: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <div className="menu">
      <button type="button" popoverTarget={id}>
        {label}
      </button>
      <div id={id} popover="auto" className="panel">
        {children}
      </div>
    </div>
  );
}

interface ConfirmProps {
  /** The verb, such as "Stop", and its object. */
  readonly act: string;
  readonly of: string;
  readonly isOff: boolean;
  readonly onYes: () => void;
  readonly children: ReactNode;
}

/** A button that asks before it acts. The browser keeps the focus in the dialog, closes it on Escape, and returns the focus. */
export function Confirm({ act, of, isOff, onYes, children }: ConfirmProps) {
  const id = useId();
  const question = useRef<HTMLDialogElement>(null);
  return (
    <>
      <Button isOff={isOff} onClick={() => question.current?.showModal()}>
        {act}
      </Button>
      <dialog ref={question} aria-labelledby={id} className="panel">
        <form method="dialog">
          <h2 id={id}>{`${act} ${of}?`}</h2>
          <p>{children}</p>
          <div className="choices">
            <button>Cancel</button>
            <button className="danger" onClick={onYes}>
              {`${act} ${of}`}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}

/** Focuses a part that opened when the link that was followed is gone or hidden: keyboards go on from there. */
export function useFocusWhenLost(opened: RefObject<HTMLElement | null>, name: string) {
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || !activeElement?.checkVisibility()) opened.current?.focus();
  }, [opened, name]);
}

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
