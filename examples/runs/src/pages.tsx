import type { ReactNode } from "react";
import type { Address } from "./address.ts";
import { Compare } from "./compare.tsx";

interface Page {
  /** What the way back calls it. */
  readonly name: string;
  readonly element: ReactNode;
}

/** The page of its own that an address names, beside the start page, the lists and their runs. */
export function pageOf(address: Address): Page | undefined {
  if (address.compare) return { name: "compare", element: <Compare address={address} /> };
  return undefined;
}
