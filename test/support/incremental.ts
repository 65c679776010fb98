import type { GraphQLFormattedError } from "graphql";
import { post } from "./raw-requests.ts";

export type Path = readonly (string | number)[];

interface Part {
  readonly id: string;
  readonly data?: Record<string, unknown>;
  readonly items?: readonly unknown[];
  readonly errors?: readonly GraphQLFormattedError[];
}

/** A result, or a payload of an incremental result, in the format of graphql-js 17. */
export interface PayloadJson {
  readonly data?: unknown;
  readonly errors?: readonly GraphQLFormattedError[];
  readonly pending?: readonly { readonly id: string; readonly path: Path; readonly label?: string }[];
  readonly incremental?: readonly Part[];
  readonly completed?: readonly Pick<Part, "id" | "errors">[];
  readonly hasNext?: boolean;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Reads the parts of a `multipart/mixed` body as they arrive. */
export async function* partsOf({ body, headers }: Response): AsyncGenerator<PayloadJson> {
  const [, boundary = "?"] = /boundary="([^"]+)"/.exec(headers.get("content-type") ?? "") ?? [];
  const decoder = new TextDecoder();
  let text = "\r\n";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const parts = text.split(`\r\n--${boundary}`);
    text = parts.pop() ?? "";
    for (const part of parts) if (part.trim() !== "") yield JSON.parse(part.slice(part.indexOf("\r\n\r\n")));
  }
  if (text !== "--\r\n") throw new Error(`expected the end of the body, got ${JSON.stringify(text)}`);
}

/** Adds fields or items to the existing ones, as clients do. */
function mergeInto(target: unknown, source: unknown): unknown {
  if (typeof target !== "object" || target === null || typeof source !== "object" || source === null)
    return source;
  for (const [key, value] of Object.entries(source))
    Reflect.set(target, key, mergeInto(Reflect.get(target, key), value));
  return target;
}

/** Merges payloads into one result. Throws unless each payload belongs to a pending part of an existing object. */
export function merge(payloads: readonly PayloadJson[]) {
  const [first = {}, ...later] = payloads;
  const result = structuredClone({ data: first.data, errors: [...(first.errors ?? [])] });
  const pending = new Map<string, Path>();
  const announce = ({ pending: announced = [] }: PayloadJson) => {
    for (const { id, path } of announced) {
      if (pending.has(id)) throw new Error(`${id} is announced twice`);
      pending.set(id, path);
    }
  };
  const pathOf = (id: string): Path => {
    const path = pending.get(id);
    if (!path) throw new Error(`${id} is not pending`);
    return path;
  };
  /** The paths of parts that could not be completed. */
  const failed: Path[] = [];
  announce(first);
  for (const payload of later) {
    announce(payload);
    for (const { id, data, items, errors = [] } of payload.incremental ?? []) {
      const target = pathOf(id).reduce<unknown>((value, key) => Reflect.get(Object(value), key), result.data);
      if (typeof target !== "object" || target === null) throw new Error(`nothing at ${pathOf(id)}`);
      if (items) (target as unknown[]).push(...structuredClone(items));
      mergeInto(target, structuredClone(data ?? {}));
      result.errors.push(...errors);
    }
    for (const { id, errors } of payload.completed ?? []) {
      if (errors) failed.push(pathOf(id));
      result.errors.push(...(errors ?? []));
      pathOf(id);
      pending.delete(id);
    }
    for (const { path } of payload.pending ?? [])
      if (nullAt(result.data, path).length < path.length) throw new Error(`nothing at ${path}`);
    if (payload.hasNext !== pending.size > 0) throw new Error("hasNext is not whether parts are pending");
  }
  return { ...result, failed };
}

/** Sends an operation and reads its payloads. A single result is the only payload. */
export async function askIncrementally(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<PayloadJson[]> {
  const accept = "multipart/mixed, application/json";
  const response = await post(`${url}/graphql`, body, { authorization: "", accept, ...headers });
  if (!response.headers.get("content-type")?.startsWith("multipart"))
    return [(await response.json()) as PayloadJson];
  const payloads: PayloadJson[] = [];
  for await (const part of partsOf(response)) payloads.push(part);
  return payloads;
}

/** The longest prefix of a path that exists in the data, up to the first null. */
export function nullAt(data: unknown, path: Path): Path {
  let value = data;
  const end = path.findIndex((key) => {
    if (value === null) return true;
    value = Reflect.get(Object(value), key);
    return false;
  });
  return end === -1 ? path : path.slice(0, end);
}
