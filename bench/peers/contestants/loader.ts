import DataLoader from "dataloader";
import type { Context } from "./schema.ts";
import { get as getBare, type Get } from "./service.ts";

/** Creates one loader per request, which reads each record once. */
export function contextOf(authorization: string | null | undefined, get: Get = getBare): Context {
  const loader = new DataLoader((paths: readonly string[]) =>
    Promise.all(paths.map((path) => get<unknown>(path, authorization ?? ""))),
  );
  return { load: (path) => loader.load(path) };
}
