import type { Execute } from "../router.ts";
import type { McpSettings } from "./handler.ts";

/** Loads the protocol on the first request that needs it. Returns null when agents may run nothing. */
export function loadMcp(settings: McpSettings): Execute | null {
  if (settings.types.length === 0) return null;
  let loading: Promise<Execute> | null = null;
  const load = () =>
    import("./handler.ts")
      .then(({ createMcpHandler }) => createMcpHandler(settings))
      .catch((error: unknown) => {
        loading = null;
        throw error;
      });
  return async (...given) => (await (loading ??= load()))(...given);
}
