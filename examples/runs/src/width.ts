import { useLayoutEffect, useState } from "react";

/** The inner width of an element in pixels, as it changes. */
export function useWidthOf(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return;
    const sized = new ResizeObserver(() => setWidth(current.clientWidth));
    sized.observe(current);
    return () => sized.disconnect();
  }, [element]);
  return width;
}
