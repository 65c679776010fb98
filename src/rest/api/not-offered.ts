import { UpstreamError } from "../../errors.ts";

export const notOffered = (what: string) =>
  new UpstreamError(
    "CAPABILITY_UNAVAILABLE",
    `The server behind this gateway does not offer ${what}. \`gateway.capabilities\` tells what there is.`,
  );
