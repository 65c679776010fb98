import findMyWay from "find-my-way";

import type { Handler, Route } from "./exchange.ts";

/** What a method and a path lead to. */
export type Destination =
  | {
      readonly kind: "found";
      readonly handler: Handler;
      readonly params: Readonly<Record<string, string | undefined>>;
    }
  | { readonly kind: "wrong method" }
  | { readonly kind: "unknown path" };

/** What may stand in a hole; the others take anything but a slash. */
const patterns: Readonly<Record<string, string>> = {
  owner: "(^[-\\w]+$)",
  project: "(^[-\\w]+$)",
  id: "(^\\d+$)",
  experiment_id: "(^\\d+$)",
  job_id: "(^\\d+$)",
};

const methods = ["GET", "POST", "PATCH", "DELETE"] as const;

/** Makes the function that finds a row by method and path. A trailing slash makes no difference, a double one does. */
export function createDispatch(routes: readonly Route[]): (method: string, path: string) => Destination {
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 200 });
  for (const { method, path, handler } of routes) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, (_, hole: string) => `:${hole}${patterns[hole] ?? ""}`);
    router.on(method, `/api/v1/${pattern.replace(/\/$/, "")}`, () => {}, handler);
  }
  return (method, path) => {
    const known = methods.find((candidate) => candidate === method);
    const found = known ? router.find(known, path) : null;
    if (found) {
      // Each row was registered above with its handler as the store.
      const handler: Handler = found.store;
      return { kind: "found", handler, params: found.params };
    }
    const isKnown = methods.some((candidate) => router.find(candidate, path));
    return { kind: isKnown ? "wrong method" : "unknown path" };
  };
}
