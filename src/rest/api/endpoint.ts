import { InputError, GatewayError } from "../../errors.ts";
import type { Reader } from "./reader.ts";

/** The names between braces in a path: `{owner}/{project}/jobs/{id}/` has `owner`, `project` and `id`. */
type PathParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameterNames<Rest>
  : never;

export type PathParameters<Path extends string> = { readonly [Name in PathParameterNames<Path>]: string };

/** One endpoint of the service: a method, a path below the base path, and the reader of its response. */
interface Endpoint<At, out Answer> {
  /** The path template. Safe in logs, metrics and errors, unlike the filled path. */
  readonly path: string;
  readonly answer: Reader<Answer>;
  /** The name in the section `optional` of profiles, which decide whether a server has the endpoint; null if the document has it. */
  readonly optional: { readonly name: string } | null;
  /** The capability that needs this endpoint. Null if every server should have it, or if it only saves requests. */
  readonly capability: Capability | null;
  /** Fills the path parameters. Throws `InputError` if a value could escape its segment. */
  toPath(at: At): string;
}

/** Capabilities that only some servers have. `gateway.capabilities` lists them. Most are not in the service's document. */
export const CAPABILITIES = {
  LISTS: "Lists of projects and runs.",
  EXPERIMENT_JOB_LOGS: "`ExperimentJob.logs`.",
  BOOKMARKS: "`User.bookmarks`.",
  ARCHIVES: "`User.archives` and `archiveRuns`.",
  FILTERS: "The argument `filter`.",
  METRIC_ORDERS: "`order: {by: {metric: …}}`.",
  OFFSETS: "The argument `offset`.",
  CREATE_RUNS: "`createExperiment`, `createJob`, `createBuildJob` and `createGroup`.",
  CREATE_EXPERIMENT_GROUP: "`group` of `createExperiment`.",
  CREATE_GROUP_EXPERIMENTS: "`experiments` of `createGroup`.",
  CREATE_JOB_TAGS: "`tags` of `createJob`.",
  BULK_COMMANDS: "`stopRuns` and `deleteRuns` take one request for the experiments of a project.",
  PROJECT_RECORDS: "Fields of `Project` that are those of a record.",
  PROJECT_COMMANDS: "`createProject`, `updateProject` and `deleteProject`.",
  PROJECT_BOOKMARKS: "`bookmarkProject`.",
  PROJECT_ARCHIVES: "`archiveProject`.",
  CODE_REFERENCES: "`Experiment.codeReference`.",
  JOB_RESUME: "`resumeJob`.",
  JOB_COPY: "`copyJob`.",
  OUTPUT_FILES: "`outputFiles`, and downloads of single files.",
  UPDATE_NAME: "`name` of updates.",
  UPDATE_TAGS: "`tags`, `addTags` and `removeTags` of updates.",
  UPDATE_README: "`readme` of updates.",
  RESTART_DESCRIPTION: "`description` of `restartExperiment`.",
  RESTART_PARAMETERS: "`parameters` of `restartExperiment`.",
  RESTART_UPDATE_CODE: "`updateCode` of `restartExperiment`.",
};
export type Capability = keyof typeof CAPABILITIES;

/** The method and path template of an endpoint, which are safe in messages and logs. */
export interface EndpointName {
  readonly method: string;
  readonly path: string;
}

export interface Get<At, out Answer> extends Endpoint<At, Answer> {
  readonly method: "GET";
}

/** An endpoint that writes. `Body` is its JSON body; `undefined` if the document defines none. */
export interface Command<At, out Answer, in Body = undefined> extends Endpoint<At, Answer> {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Whether the request is sent without the caller's token, as for login. */
  readonly anonymous: boolean;
  /** Whether a 404 may also mean that there is nothing to undo. */
  readonly undoes: boolean;
  readonly encode: (body: Body) => string | null;
  /** The part of the body that error messages must not contain. */
  readonly secretOf: (body: Body) => string | null;
}

export type AnyEndpoint = Get<never, unknown> | Command<never, unknown, never>;

export function get<Path extends string, Answer>(
  path: Path,
  answer: Reader<Answer>,
): Get<PathParameters<Path>, Answer> {
  return { method: "GET", path, answer, optional: null, capability: null, toPath: toPathOf(path) };
}

const command =
  (method: Command<never, unknown>["method"]) =>
  <Path extends string, Answer, Body = undefined>(
    path: Path,
    answer: Reader<Answer>,
    options: {
      readonly body?: (body: Body) => string | null;
      readonly anonymous?: boolean;
      readonly undoes?: boolean;
      readonly secretOf?: (body: Body) => string;
    } = {},
  ): Command<PathParameters<Path>, Answer, Body> => ({
    method,
    path,
    answer,
    optional: null,
    capability: null,
    toPath: toPathOf(path),
    encode: options.body ?? (() => null),
    secretOf: options.secretOf ?? (() => null),
    anonymous: options.anonymous ?? false,
    undoes: options.undoes ?? false,
  });

export const post = command("POST");
export const patch = command("PATCH");
export const del = command("DELETE");

/** An endpoint that is not in the service's document: `optional("jobs", "LISTS", get(…))`. */
export const optional = <Same extends AnyEndpoint>(
  name: string,
  capability: Capability | null,
  endpoint: Same,
): Same => ({ ...endpoint, optional: { name }, capability });

/** An endpoint of the service's document that known servers lack: `capable("JOB_COPY", post(…))`. */
export const capable = <Same extends AnyEndpoint>(capability: Capability, endpoint: Same): Same => ({
  ...endpoint,
  capability,
});

/** Defines the body of a command, which is sent as JSON unless it is undefined: `post(path, Reader, json<{ values: … }>())`. */
export const json = <Body>() => ({
  body: (body: Body) => (body === undefined ? null : JSON.stringify(body)),
});

/** An endpoint as profiles spell it: `POST superusers/revoke/{username}/`. */
export const spellingOf = ({ method, path }: EndpointName): string => `${method} ${path}`;

/** Copies an endpoint with another method and path, such as `POST superusers/revoke/{username}/`. */
export function override<Same extends { readonly path: string }>(endpoint: Same, spelling: string): Same {
  const [method, path = ""] = spelling.split(" ");
  return { ...endpoint, method, path, toPath: toPathOf(path) };
}

const SPELLING = /^(?:GET|POST|PUT|PATCH|DELETE) (?:(?:\w|\{\w+\})(?:[\w.-]|\{\w+\})*(?:\/|$))+$/;

/** Checks an override of an endpoint. Returns the issue; null if it is valid. */
export function overrideIssue(endpoint: EndpointName, spelling: string): string | null {
  if (!SPELLING.test(spelling))
    return "expected a method and a path, such as POST superusers/revoke/{username}/";
  // A command must not become a GET, which is retried.
  if (spelling.startsWith("GET ") !== (endpoint.method === "GET"))
    return endpoint.method === "GET"
      ? "expected GET, for it reads"
      : "expected POST, PUT, PATCH or DELETE, for it writes";
  const parameters: readonly string[] = endpoint.path.match(PATH_PARAMETER) ?? [];
  const unknown = spelling.match(PATH_PARAMETER)?.find((parameter) => !parameters.includes(parameter));
  if (unknown) return `expected only the parameters ${parameters.join(" ")}`;
  // The last parameter identifies the resource; the others are optional.
  const last = parameters.at(-1);
  return last && !spelling.includes(last) ? `expected ${last} in the path` : null;
}

const PATH_PARAMETER = /\{(\w+)\}/g;

/** Creates the function that fills a template. The template is split only once, into literal parts and parameters that alternate. */
function toPathOf<Path extends string>(path: Path) {
  const [start = "", ...rest] = path.split(PATH_PARAMETER);
  const parts = rest.flatMap((text, index) =>
    index % 2 === 0
      ? [{ name: text as keyof PathParameters<Path> & string, after: rest[index + 1] ?? "" }]
      : [],
  );
  return (at: PathParameters<Path>): string => {
    // `join` saves memory: V8 would keep a concatenated string as five objects for each waiting read.
    const filled = [start];
    for (const { name, after } of parts) filled.push(encodedSegment(name, at[name]), after);
    return filled.join("");
  };
}

/** Matches names of letters, digits and `-`, which need no check and no encoding. */
const PLAIN = /^[\w-]{1,200}$/;

const encodedSegment = (name: string, value: string): string =>
  PLAIN.test(value) ? value : encodeURIComponent(segment(name, value));

/** Maximum length of a path parameter, in characters. The service's own names have at most 150. */
const MAX_SEGMENT_LENGTH = 200;
const OUTSIDE_A_SEGMENT = /[\s\p{C}/\\?#%]/u;

/** Returns a path segment, or throws `InputError`. `encodeURIComponent` would keep `..`, which leaves the base path. */
export function segment(name: string, value: string): string {
  const issue =
    value.length === 0 || value.length > MAX_SEGMENT_LENGTH
      ? `expected 1 to ${MAX_SEGMENT_LENGTH} characters, got ${value.length}`
      : value === "." || value === ".." || OUTSIDE_A_SEGMENT.test(value)
        ? `expected a name without whitespace, control characters or / \\ ? # %, got ${JSON.stringify(value)}`
        : null;
  if (issue) throw new InputError(`${name}: ${issue}`);
  return value;
}

/** Maximum length of a path, percent-encoded. Known servers respond to a request line above 4,094 bytes as if the folder were missing. */
const MAX_PATH_BYTES = 2_000;
/** Matches backslashes, control characters and halves of surrogate pairs, which UTF-8 cannot encode. */
const NOT_PLAIN_CHARACTER = /[\\\p{Cc}\p{Cs}]/u;

/** Whether a path is relative and stays below its folder. Known servers join paths without a check. */
export const isPlainPath = (path: string): boolean =>
  !NOT_PLAIN_CHARACTER.test(path) &&
  path.split("/").every((name) => name !== "" && name !== "." && name !== "..") &&
  encodeURIComponent(path).length <= MAX_PATH_BYTES;

export function plainPath(argument: string, path: string): string {
  if (isPlainPath(path)) return path;
  throw new InputError(
    `${argument}: expected a relative path such as checkpoints/model.bin, up to ${MAX_PATH_BYTES} bytes when percent-encoded, without empty segments, \`.\`, \`..\`, \`\\\` or control characters, got ${JSON.stringify(path.slice(0, 60))}`,
  );
}

export const notOffered = (what: string, capability: string | null = null) =>
  new GatewayError(
    "CAPABILITY_UNAVAILABLE",
    `The server behind this gateway does not offer ${what}${capability ? `: it lacks the capability \`${capability}\`` : ""}.`,
  );
