import { useMemo, useSyncExternalStore } from "react";
import type { RunFilter } from "./generated/graphql.ts";

/** The state of the page, stored in the address: `#list=ada.mnist.1&run=ada.mnist.1.44&sort=metric.loss&show=log`. */
export interface Address {
  /** Unique name of a project (`ada.mnist`) or of a group (`ada.mnist.1`). Undefined: the start page. */
  readonly list?: string | undefined;
  /** Unique name of a run. */
  readonly run?: string | undefined;
  /** The shown part of the run: `log` or `files`. Undefined: its charts. */
  readonly show?: string | undefined;
  /** Conditions of the list, in the language of `filter.ts`. */
  readonly filter?: string | undefined;
  /** Id of the column that sorts the list, with a leading `-` for descending order. Undefined: newest first. */
  readonly sort?: string | undefined;
  /** Ids of the columns that group the runs, separated by commas. `columns` has the shown ones, and `pin` the pinned ones. */
  readonly group?: string | undefined;
  readonly columns?: string | undefined;
  readonly pin?: string | undefined;
  /** Name under which these choices were saved as a view. */
  readonly view?: string | undefined;
  /** The metric for which the page ranks parameters. */
  readonly matters?: string | undefined;
  /** Unique names of the compared runs, separated by commas. */
  readonly compare?: string | undefined;
  /** `log` for a logarithmic scale of the curves. `smooth` is the weight of the past in their moving average, such as `0.6`. */
  readonly scale?: string | undefined;
  readonly smooth?: string | undefined;
  /** `all` shows the archive. */
  readonly archive?: string | undefined;
}

/** The target of a link. The page follows the address, so back, reload and bookmarks work. */
export function hrefOf(address: Address): string {
  const given = Object.entries(address).filter(([, value]) => value);
  return `#${new URLSearchParams(given).toString()}`;
}

/** The target of a link to a run, beside the list of its project. */
export const runHref = (uniqueName: string) => hrefOf({ list: projectOf(uniqueName), run: uniqueName });

/** The project in a unique name: `ada.mnist` of `ada.mnist.1` or `ada.mnist.1.44`. */
export const projectOf = (uniqueName: string) => uniqueName.split(".", 2).join(".");

/** Whether a list is a group (`ada.mnist.1`) and not a project. */
export const isGroup = (list: string) => list.split(".").length > 2;

/** The filter for the runs of a list. The runs of a group are those of its project in that group. */
export const within = (list: string, filter: RunFilter | null): RunFilter | null =>
  isGroup(list) ? { ...filter, groups: [list] } : filter;

/** Splits a text at its commas, without duplicates. */
export const partsOf = (text: string | undefined) => [...new Set((text ?? "").split(",").filter(Boolean))];

/** Maximum number of runs that the gateway compares at once. */
export const MOST_COMPARED = 100;

/** The target of a link that compares runs. */
export const compareHref = (names: readonly string[], address: Address) =>
  hrefOf({ ...address, run: undefined, compare: names.slice(0, MOST_COMPARED).join() });

function parse(hash: string): Address {
  const { list, run, ...others }: Address = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  return { list: list ?? (run && projectOf(run)), run, ...others };
}

/** Changes the address without a new history entry, for values that people try out, such as those of a slider. */
export function replaceAddress(address: Address): void {
  history.replaceState(null, "", hrefOf(address));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function subscribe(onChange: () => void) {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
}

export function useAddress(): Address {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parse(hash), [hash]);
}
