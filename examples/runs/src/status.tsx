import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const statusFragment = graphql(`
  fragment Status on Trackable {
    id
    status
    rawStatus
    phase
  }
`);

/** A status, coloured by its phase. For OTHER, a status that is unknown to the gateway, it shows the service's own word. */
export function Status({ of }: { of: FragmentType<typeof statusFragment> }) {
  const { status, rawStatus, phase } = readFragment(statusFragment, of);
  const name = status === "OTHER" ? (rawStatus ?? status) : status;
  return (
    <span className="status" data-phase={phase}>
      {name.toLowerCase().replaceAll("_", " ")}
    </span>
  );
}
