import { type ReactNode, type RefObject, useId } from "react";

interface ConfirmProps {
  /** `showModal()` asks. The browser keeps the focus inside, closes on Escape, and returns the focus. */
  readonly question: RefObject<HTMLDialogElement | null>;
  readonly title: string;
  readonly act: string;
  readonly onYes: () => void;
  readonly children: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ question, title, act, onYes, children }: ConfirmProps) {
  const id = useId();
  return (
    <dialog ref={question} aria-labelledby={id} className="panel">
      <form method="dialog">
        <h2 id={id}>{title}</h2>
        <p>{children}</p>
        <div className="choices">
          <button>Cancel</button>
          <button className="danger" onClick={onYes}>
            {act}
          </button>
        </div>
      </form>
    </dialog>
  );
}
