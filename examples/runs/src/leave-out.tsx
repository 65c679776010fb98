import type { Address } from "./address.ts";
import { compareHref } from "./compare-href.ts";

interface LeaveOutProps {
  readonly name: string;
  readonly names: readonly string[];
  readonly address: Address;
}

/** Leads to the same comparison without one run. */
export function LeaveOut({ name, names, address }: LeaveOutProps) {
  const others = names.filter((each) => each !== name);
  if (others.length === 0) return null;
  return (
    <a
      className="remove"
      href={compareHref(others, address)}
      aria-label={`Compare without ${name}`}
      title="Leave out"
    >
      ×
    </a>
  );
}
