import { type Address, hrefOf } from "./address.ts";

/** Runs that the gateway compares at once. */
export const MOST_COMPARED = 100;

/** The runs of an address that are compared, each once. */
export const comparedIn = ({ compare = "" }: Address) => [...new Set(compare.split(",").filter(Boolean))];

/** The target of a link that compares runs. */
export const compareHref = (names: readonly string[], address: Address) =>
  hrefOf({ ...address, run: undefined, compare: names.slice(0, MOST_COMPARED).join(",") });
