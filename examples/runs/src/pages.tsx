import type { ReactNode } from "react";
import type { Address } from "./address.ts";
import { Build } from "./build.tsx";
import { Compare } from "./compare.tsx";
import { Files } from "./files.tsx";
import { Job } from "./job.tsx";
import { Matters } from "./matters.tsx";
import { Machine } from "./machine.tsx";

interface Page {
  /** Name of the page in the link that leads back to it. */
  readonly name: string;
  readonly element: ReactNode;
}

/** The separate page that an address names, if it is not the start page, a list or a run. */
export function pageOf(address: Address): Page | undefined {
  if (address.compare) return { name: "compare", element: <Compare address={address} /> };
  if (address.matters) return { name: "what matters", element: <Matters address={address} /> };
  if (address.build)
    return {
      name: address.build,
      element: <Build key={address.build} name={address.build} address={address} />,
    };
  if (address.job)
    return { name: address.job, element: <Job key={address.job} name={address.job} address={address} /> };
  if (address.machine) return { name: address.machine, element: <Machine name={address.machine} /> };
  if (address.files) return { name: "output files", element: <Files run={address.files} /> };
  return undefined;
}
