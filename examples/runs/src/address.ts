import { useMemo, useSyncExternalStore } from "react";

/** The state of the page, as the address keeps it: `#list=ada.mnist.1&run=ada.mnist.1.44&sort=loss&show=log`. */
export interface Address {
  /** Unique name of a project (`ada.mnist`) or of a group (`ada.mnist.1`). Undefined: the start page. */
  readonly list?: string | undefined;
  /** Unique name of a run. */
  readonly run?: string | undefined;
  /**
   * Order of the list: a metric, best first (`loss`) or worst first (`loss:worst`); a date and a direction (`FINISHED_DESC`); or an order
   * that only this page supports (`parameter.lr:desc`, see `sort.ts`). Undefined: newest first.
   */
  readonly sort?: string | undefined;
  /** Filters of the list: words in texts, one of some statuses, a tag, a parameter (`lr>=0.02`), a metric (`loss<0.3`). */
  readonly words?: string | undefined;
  readonly status?: string | undefined;
  readonly tag?: string | undefined;
  readonly parameter?: string | undefined;
  readonly bound?: string | undefined;
  /** Columns of the list that are hidden, with commas between them. */
  readonly hide?: string | undefined;
  /** Values shown for each metric in addition to its last one, separated by commas: `best`, `smallest`, `largest`. */
  readonly values?: string | undefined;
  /** The metric for which the page shows which parameters matter, and the key by which it groups runs. */
  readonly matters?: string | undefined;
  readonly by?: string | undefined;
  /** The part of the run that is shown. Undefined: its metrics and its graph. */
  readonly show?: string | undefined;
  /** Unique names of runs that are compared, with commas between them. */
  readonly compare?: string | undefined;
  /** `all`: the comparison also shows values that are equal in all runs. */
  readonly rows?: string | undefined;
  /** The metric by which lines of the comparison are coloured. */
  readonly metric?: string | undefined;
  /** How curves are drawn: `time` instead of steps, `log`, and the weight of the past in their average, such as `0.6`. */
  readonly axis?: string | undefined;
  readonly scale?: string | undefined;
  readonly smooth?: string | undefined;
  /** Unique names of a build job and of a job, name of a machine, unique name of the run whose output files are shown. */
  readonly build?: string | undefined;
  readonly job?: string | undefined;
  readonly machine?: string | undefined;
  readonly files?: string | undefined;
}

/** The target of a link. Links change the address, and the page follows it: back, reload and bookmarks work. */
export function hrefOf(address: Address): string {
  const given = Object.entries(address).filter(([, value]) => value);
  return `#${new URLSearchParams(given).toString()}`;
}

/** `ada.mnist` of `ada.mnist.1` or `ada.mnist.1.44`. */
export const projectOf = (uniqueName: string) => uniqueName.split(".", 2).join(".");

function parse(hash: string): Address {
  const { list, run, sort, show, ...pages }: Address = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  return { list: list ?? (run && projectOf(run)), run, sort, show, ...pages };
}

/** Whether a list is a group (`ada.mnist.1`), or else a project. */
export const isGroup = (list: string) => list.split(".").length > 2;

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
