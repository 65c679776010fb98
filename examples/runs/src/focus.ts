import { type RefObject, useEffect } from "react";

/**
 * Focuses what opened when the link that was followed is gone or hidden: keyboards go on from there, and screen readers
 * read it. `name` says what is open.
 */
export function useFocusWhenLost(opened: RefObject<HTMLElement | null>, name: string) {
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || !activeElement?.checkVisibility()) opened.current?.focus();
  }, [opened, name]);
}

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/**
 * Moves the focus to what comes next when what has it leaves the page, such as the last "Load more": else it would fall to the
 * body, and keyboards begin at the top again. A part of the page that is replaced as a whole has its own: see above.
 */
export function keepFocus(): void {
  let [last, opened, part]: (Element | null | undefined)[] = [];
  let near: readonly Element[] = [];
  let around: readonly Element[] = [];
  document.addEventListener("focusin", ({ target }) => {
    last = target instanceof Element ? target : null;
    part = last?.closest("main");
    opened = last?.closest("main[tabindex], section[tabindex]");
    const all = [...(part?.querySelectorAll(FOCUSABLE) ?? [])];
    const at = last ? all.indexOf(last) : -1;
    const group = last?.closest("section, form, tr, footer");
    around = [...all.slice(at + 1), ...all.slice(0, Math.max(at, 0)).toReversed()];
    near = around.filter((each) => group?.contains(each));
  });
  const move = () => {
    if (document.activeElement !== document.body || last?.isConnected !== false || !part?.isConnected) return;
    const next = [...near, ...around, opened, part].find(
      (each) => each?.isConnected && each.checkVisibility(),
    );
    if (next instanceof HTMLElement) next.focus();
  };
  new MutationObserver(move).observe(document.body, { childList: true, subtree: true });
}

/** Closes a menu that lies over the page by Escape, and when something else is pressed or focused. */
export function useClosing(menu: RefObject<HTMLDetailsElement | null>) {
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      const isInside = event.target instanceof Node && current?.contains(event.target);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (!current?.open || (isInside ? !isEscape : event.type === "keydown")) return;
      current.open = false;
      if (isEscape) current.querySelector("summary")?.focus();
    };
    const events = ["pointerdown", "focusin", "keydown"];
    for (const each of events) document.addEventListener(each, close);
    return () => {
      for (const each of events) document.removeEventListener(each, close);
    };
  }, [menu]);
}
