import { isObject } from "./record.ts";
import { notOffered } from "./endpoint.ts";

/** Where a server takes each value in the body of a command; null where it does not take it. */
type Paths = Readonly<Record<string, string | null>>;

type Body = Readonly<Record<string, unknown>>;

/**
 * Creates the body of a command with each given value at its path. Undefined values are not given. Throws `UpstreamError`
 * when the server does not take one.
 */
export function bodyOf(
  command: "update" | "restart",
  paths: Paths,
  given: Readonly<Record<string, unknown>>,
): Body {
  return Object.entries(given).reduce<Body>((body, [name, value]) => {
    if (value === undefined) return body;
    const path = paths[name];
    if (!path)
      throw notOffered(
        `\`${name}\` as input`,
        `${command}_${name}`.replaceAll(/[A-Z]/g, "_$&").toUpperCase(),
      );
    return withValue(body, path.split("."), value);
  }, {});
}

/** The body with a value at a path. Values of other paths can be in the same objects. */
function withValue(body: Body, [key = "", ...inner]: readonly string[], value: unknown): Body {
  if (inner.length === 0) return { ...body, [key]: value };
  const there = body[key];
  return { ...body, [key]: withValue(isObject(there) ? there : {}, inner, value) };
}
