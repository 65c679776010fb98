import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const statusFragment = graphql(`
  fragment Status on Trackable {
    id
    status
    rawStatus
    phase
  }
`);

/**
 * A status, coloured by its phase in style/colours.css. Neither is looked up in a list, so what only a newer gateway
 * knows is shown like the rest; OTHER is what the gateway does not know, and then the service's own word is better.
 */
export function Status({ of }: { of: FragmentType<typeof statusFragment> }) {
  const { status, rawStatus, phase } = readFragment(statusFragment, of);
  const name = status === "OTHER" ? (rawStatus ?? status) : status;
  return (
    <span className="status" data-phase={phase}>
      {name.toLowerCase().replaceAll("_", " ")}
    </span>
  );
}
