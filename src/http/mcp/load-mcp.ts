import type { TrustedDocuments } from "../../engine/documents/persisted.ts";
import type { Replaceable } from "../operation.ts";
import type { Execute } from "../router.ts";
import type { McpSettings } from "./handler.ts";

interface Settings extends Omit<McpSettings, "trusted"> {
  /** The only documents that run, which a reload replaces; null when every document runs. */
  readonly trusted: Replaceable<TrustedDocuments> | null;
}

/**
 * Loads the protocol on the first request that needs it, and the tools again for other trusted documents. Returns null
 * when agents may run nothing.
 */
export function loadMcp(settings: Settings): Execute | null {
  if (settings.types.length === 0) return null;
  let loading: Promise<Execute> | null = null;
  let trusted: TrustedDocuments | null = null;
  const load = () =>
    import("./handler.ts")
      .then(({ createMcpHandler }) => createMcpHandler({ ...settings, trusted }))
      .catch((error: unknown) => {
        loading = null;
        throw error;
      });
  return async (...given) => {
    const current = settings.trusted?.current ?? null;
    if (current !== trusted) loading = null;
    trusted = current;
    return (await (loading ??= load()))(...given);
  };
}
