import { type RefObject, useEffect } from "react";

/**
 * Focuses what opened when the link that was followed is gone or hidden: keyboards go on from there, and screen readers
 * read it. `name` tells what is open.
 */
export function useFocusWhenLost(opened: RefObject<HTMLElement | null>, name: string) {
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || !activeElement?.checkVisibility()) opened.current?.focus();
  }, [opened, name]);
}
