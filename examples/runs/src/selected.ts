import { createContext, use, useMemo, useState } from "react";

/** Names of runs, by their global ids. */
type Names = ReadonlyMap<string, string>;

interface Run {
  readonly id: string;
  readonly uniqueName: string;
}

type Mark = (runs: readonly Run[], isOn: boolean) => void;

interface Selecting {
  readonly selected: Names;
  readonly select: Mark;
  /** Runs that were archived here. Pages of the list that were read before still contain them. */
  readonly archived: Names;
  readonly archive: Mark;
}

const NONE: Names = new Map();

/** Runs that are marked in a list. Another list begins with none. */
function useMarked(list: string | undefined): readonly [Names, Mark] {
  const [kept, keep] = useState<{ readonly list: string | undefined; readonly names: Names }>();
  const names = kept && kept.list === list ? kept.names : NONE;
  return useMemo(() => {
    const mark: Mark = (runs, isOn) =>
      keep((before) => {
        const next = new Map(before?.list === list ? before?.names : NONE);
        for (const { id, uniqueName } of runs)
          if (isOn) next.set(id, uniqueName);
          else next.delete(id);
        return { list, names: next };
      });
    return [names, mark];
  }, [list, names]);
}

/**
 * The selected runs of a list, loaded or not. The selection survives another order, a filter, a comparison and the way back.
 */
export function useSelecting(list: string | undefined): Selecting {
  const [selected, select] = useMarked(list);
  const [archived, archive] = useMarked(list);
  return useMemo(() => ({ selected, select, archived, archive }), [selected, select, archived, archive]);
}

const nothing: Mark = () => undefined;

export const SelectingContext = createContext<Selecting>({
  selected: NONE,
  select: nothing,
  archived: NONE,
  archive: nothing,
});

export const useSelected = () => use(SelectingContext);
