import type { ComponentProps } from "react";

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
