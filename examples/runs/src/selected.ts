import { useEffect, useState } from "react";

export interface Named {
  readonly id: string;
  readonly uniqueName: string;
}

export type Mark = (runs: readonly Named[], isOn: boolean) => void;

/** The selected runs of a list: unique names by id. The selection survives sorting, filtering and reloads, but ends with the tab. */
export function useSelected(list: string): readonly [ReadonlyMap<string, string>, Mark] {
  const key = `runs:selected:${list}`;
  const [selected, setSelected] = useState<ReadonlyMap<string, string>>(
    // Safe: this page wrote it.
    () => new Map(JSON.parse(sessionStorage.getItem(key) ?? "[]") as [string, string][]),
  );
  useEffect(() => sessionStorage.setItem(key, JSON.stringify([...selected])), [key, selected]);
  const mark: Mark = (runs, isOn) =>
    setSelected((before) => {
      const next = new Map(before);
      for (const { id, uniqueName } of runs)
        if (isOn) next.set(id, uniqueName);
        else next.delete(id);
      return next;
    });
  return [selected, mark];
}
