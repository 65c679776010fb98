import type { YogaHandler, YogaSettings } from "./yoga.ts";

/** Loads Yoga on the first request that needs it: it takes a sixth of the start-up time. */
export function loadYoga(settings: YogaSettings): YogaHandler {
  let loading: Promise<YogaHandler> | null = null;
  return async (...given) => {
    loading ??= import("./yoga.ts").then(({ createYogaHandler }) => createYogaHandler(settings));
    return (await loading)(...given);
  };
}
