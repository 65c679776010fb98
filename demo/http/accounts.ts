import type { Kind } from "../kinds.ts";
import { projectName } from "../records.ts";
import { removeUser } from "../simulation.ts";
import type { Project, Run, Store, User } from "../store.ts";
import {
  type DemoRequest,
  type DemoResponse,
  empty,
  fieldsOf,
  forbidden,
  HttpError,
  json,
  notFound,
} from "./messages.ts";

/** The user of an Authorization header; null if it is missing or its scheme is not `token`. */
export function authenticate(store: Store, header: string | undefined): User | null {
  const [scheme, token, ...rest] = (header ?? "").trim().split(/\s+/);
  if (scheme?.toLowerCase() !== "token") return null;
  if (!token) throw new HttpError(403, { detail: "Invalid token header. No credentials provided." });
  if (rest.length > 0) {
    throw new HttpError(403, { detail: "Invalid token header. Token string should not contain spaces." });
  }
  const user = [...store.users.values()].find((candidate) => candidate.token === token);
  if (!user) throw new HttpError(403, { detail: "Invalid token." });
  if (!user.isActive) throw new HttpError(403, { detail: "User inactive or deleted." });
  return user;
}

export function requireUser({ caller }: DemoRequest): User {
  if (!caller) throw new HttpError(403, { detail: "Authentication credentials were not provided." });
  return caller;
}

function requireSuperuser(request: DemoRequest): User {
  const caller = requireUser(request);
  if (!caller.isSuperuser) throw forbidden();
  return caller;
}

/** Whether a user may see the contents of a project. */
export function mayRead(user: User, project: Project): boolean {
  return project.isPublic || mayWrite(user, project);
}

export function mayWrite(user: User, project: Project): boolean {
  return user.isSuperuser || project.owner === user.username;
}

/** The project of the path. Another user's private project is forbidden, not hidden. */
export function projectOf(request: DemoRequest, may: typeof mayRead = mayRead): Project {
  const caller = requireUser(request);
  const { owner = "", project: name = "" } = request.params;
  const project = request.store.projects.get(projectName({ owner, name }));
  if (!project) throw notFound();
  if (!may(caller, project)) throw forbidden();
  return project;
}

function findRun<R extends Run>(request: DemoRequest, project: Project, kind: Kind<R>, key: string): R {
  const run = kind.all(request.store).get(Number(request.params[key]));
  if (run?.project !== project) throw notFound();
  return run;
}

/** The run of the path, for a caller who may see it; the key names the path parameter of its id. */
export function findReadable<R extends Run>(request: DemoRequest, kind: Kind<R>, key = "id"): R {
  return findRun(request, projectOf(request), kind, key);
}

/** The run of the path, for a caller who may change it. */
export function findWritable<R extends Run>(request: DemoRequest, kind: Kind<R>, key = "id"): R {
  return findRun(request, projectOf(request, mayWrite), kind, key);
}

/** The user whose bookmarks a record shows. */
export function usernameOf({ caller }: DemoRequest): string {
  return caller?.username ?? "";
}

export function login({ store, body }: DemoRequest): DemoResponse {
  const fields = fieldsOf(body());
  const errors = Object.fromEntries(
    ["username", "password"].flatMap((name) => {
      const error = credentialError(fields[name]);
      return error ? [[name, [error]]] : [];
    }),
  );
  if (Object.keys(errors).length > 0) throw new HttpError(400, errors);
  const user = store.users.get(String(fields["username"]));
  if (!user?.isActive || user.password !== fields["password"]) {
    throw new HttpError(400, { non_field_errors: ["Unable to log in with provided credentials."] });
  }
  return json(200, { token: user.token });
}

function credentialError(value: unknown): string | null {
  if (value === undefined) return "This field is required.";
  if (value === null) return "This field may not be null.";
  if (value === "") return "This field may not be blank.";
  return typeof value === "string" || typeof value === "number" ? null : "Not a valid string.";
}

/** The caller; without a token an empty name and no e-mail address. */
export function viewer({ caller }: DemoRequest): DemoResponse {
  if (!caller) return json(200, { username: "", is_superuser: false });
  return json(200, { username: caller.username, email: caller.email, is_superuser: caller.isSuperuser });
}

export function activate(request: DemoRequest): DemoResponse {
  userOf(request).isActive = true;
  return empty(200);
}

export function grantSuperuser(request: DemoRequest): DemoResponse {
  userOf(request).isSuperuser = true;
  return empty(200);
}

export function revokeSuperuser(request: DemoRequest): DemoResponse {
  userOf(request).isSuperuser = false;
  return empty(200);
}

export function deleteUser(request: DemoRequest): DemoResponse {
  removeUser(request.store, userOf(request));
  return empty(204);
}

/** The user of the path, for a caller who may change users. */
function userOf(request: DemoRequest): User {
  requireSuperuser(request);
  const user = request.store.users.get(request.params["username"] ?? "");
  if (!user) throw notFound();
  return user;
}
