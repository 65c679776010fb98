import { createContext, use, useMemo, useState } from "react";

/** Names of the runs that are selected, by their global ids. */
type Selected = ReadonlyMap<string, string>;

interface Run {
  readonly id: string;
  readonly uniqueName: string;
}

interface Selecting {
  readonly selected: Selected;
  readonly select: (runs: readonly Run[], isOn: boolean) => void;
}

const NONE: Selected = new Map();

/**
 * What is selected in a list, whatever of it is loaded: another order, a filter, a comparison and the way back leave it as
 * it is. Another list has its own selection, and begins with none.
 */
export function useSelecting(list: string | undefined): Selecting {
  const [kept, keep] = useState<{ readonly list: string | undefined; readonly selected: Selected }>();
  const selected = kept && kept.list === list ? kept.selected : NONE;
  return useMemo(() => {
    const select: Selecting["select"] = (runs, isOn) =>
      keep((before) => {
        const next = new Map(before?.list === list ? before?.selected : NONE);
        for (const { id, uniqueName } of runs)
          if (isOn) next.set(id, uniqueName);
          else next.delete(id);
        return { list, selected: next };
      });
    return { selected, select };
  }, [list, selected]);
}

export const SelectingContext = createContext<Selecting>({ selected: NONE, select: () => undefined });

export const useSelected = () => use(SelectingContext);
