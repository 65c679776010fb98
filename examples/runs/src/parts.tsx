import { type ComponentProps, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";

/** A button that can be turned off. It keeps the focus, which a `disabled` button loses. */
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

/** A value with its name. Shows nothing if the service has no value. */
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

/** A menu over the page. The browser closes it on Escape or a press outside, and returns the focus. */
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
  /** The verb of the action, such as "Stop", and its object. */
  readonly act: string;
  readonly of: string;
  readonly isOff: boolean;
  readonly onYes: () => void;
  readonly children: ReactNode;
}

/** A button that asks for confirmation. The browser keeps the focus in the dialog, closes it on Escape, and returns the focus. */
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

/** Focuses a newly opened part if the followed link is gone or hidden, so that keyboard users continue in that part. */
export function useFocusWhenLost(opened: RefObject<HTMLElement | null>, name: string) {
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || !activeElement?.checkVisibility()) opened.current?.focus();
  }, [opened, name]);
}

/** A page with its own title. It gets the focus when it opens. */
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
