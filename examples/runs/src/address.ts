import { useMemo, useSyncExternalStore } from "react";
import type { RunFilter } from "./generated/graphql.ts";

/** The state of the page, as the address keeps it: `#list=ada.mnist.1&run=ada.mnist.1.44&sort=metric.loss&show=log`. */
export interface Address {
  /** Unique name of a project (`ada.mnist`) or of a group (`ada.mnist.1`). Undefined: the start page. */
  readonly list?: string | undefined;
  /** Unique name of a run. */
  readonly run?: string | undefined;
  /** The part of the run that is shown: `log` or `files`. Undefined: its charts. */
  readonly show?: string | undefined;
  /** Conditions of the list, as `filter.ts` reads them. */
  readonly filter?: string | undefined;
  /** Id of the column that the list is sorted by, after `-` in descending order. Undefined: newest first. */
  readonly sort?: string | undefined;
  /** Ids of the columns by which runs are grouped, with commas between them; likewise the columns that are shown and pinned. */
  readonly group?: string | undefined;
  readonly columns?: string | undefined;
  readonly pin?: string | undefined;
  /** Name of the view that these choices were saved under. */
  readonly view?: string | undefined;
  /** The metric for which the page ranks parameters. */
  readonly matters?: string | undefined;
  /** Unique names of runs that are compared, with commas between them. */
  readonly compare?: string | undefined;
  /** How curves are drawn: on a `log` scale, and the weight of the past in their average, such as `0.6`. */
  readonly scale?: string | undefined;
  readonly smooth?: string | undefined;
  /** `all`: the archive is shown. */
  readonly archive?: string | undefined;
}

/** The target of a link. Links change the address, and the page follows it: back, reload and bookmarks work. */
export function hrefOf(address: Address): string {
  const given = Object.entries(address).filter(([, value]) => value);
  return `#${new URLSearchParams(given).toString()}`;
}

/** The page of a run beside the list of its project. */
export const runHref = (uniqueName: string) => hrefOf({ list: projectOf(uniqueName), run: uniqueName });

/** `ada.mnist` of `ada.mnist.1` or `ada.mnist.1.44`. */
export const projectOf = (uniqueName: string) => uniqueName.split(".", 2).join(".");

/** Whether a list is a group (`ada.mnist.1`), or else a project. */
export const isGroup = (list: string) => list.split(".").length > 2;

/** The filter of a list: a group is a part of its project. */
export const within = (list: string, filter: RunFilter | null): RunFilter | null =>
  isGroup(list) ? { ...filter, groups: [list] } : filter;

/** The parts of a text with commas between them. */
export const partsOf = (text: string | undefined) => [...new Set((text ?? "").split(",").filter(Boolean))];

/** Runs that the gateway compares at once. */
export const MOST_COMPARED = 100;

/** The target of a link that compares runs. */
export const compareHref = (names: readonly string[], address: Address) =>
  hrefOf({ ...address, run: undefined, compare: names.slice(0, MOST_COMPARED).join() });

function parse(hash: string): Address {
  const { list, run, ...others }: Address = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  return { list: list ?? (run && projectOf(run)), run, ...others };
}

/** Changes the address without a new entry in the history: for values that are tried out, such as those of a slider. */
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
