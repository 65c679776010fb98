import { type Exchange, forbidden, notFound, Refusal } from "./exchange.ts";
import type { Kind } from "./kinds.ts";
import type { Project, Run, User } from "./model.ts";
import type { World } from "./store.ts";
import { projectName } from "./wire.ts";

/** Who sent an Authorization header. Null when there is none or when its scheme is not `token`. */
export function authenticate(world: World, header: string | undefined): User | null {
  const [scheme, token, ...rest] = (header ?? "").trim().split(/\s+/);
  if (scheme?.toLowerCase() !== "token") return null;
  if (!token) throw new Refusal(403, { detail: "Invalid token header. No credentials provided." });
  if (rest.length > 0) {
    throw new Refusal(403, { detail: "Invalid token header. Token string should not contain spaces." });
  }
  const user = [...world.users.values()].find((candidate) => candidate.token === token);
  if (!user) throw new Refusal(403, { detail: "Invalid token." });
  if (!user.isActive) throw new Refusal(403, { detail: "User inactive or deleted." });
  return user;
}

export function signedIn({ caller }: Exchange): User {
  if (!caller) throw new Refusal(403, { detail: "Authentication credentials were not provided." });
  return caller;
}

export function superuser(exchange: Exchange): User {
  const caller = signedIn(exchange);
  if (!caller.isSuperuser) throw forbidden();
  return caller;
}

/** Whether a user may see what is in a project. */
export function mayRead(user: User, project: Project): boolean {
  return project.isPublic || mayWrite(user, project);
}

function mayWrite(user: User, project: Project): boolean {
  return user.isSuperuser || project.owner === user.username;
}

/** The project of the path. A private one of somebody else is refused, not hidden. */
export function projectOf(exchange: Exchange, may: typeof mayRead = mayRead): Project {
  const caller = signedIn(exchange);
  const { owner = "", project: name = "" } = exchange.params;
  const project = exchange.world.projects.get(projectName({ owner, name }));
  if (!project) throw notFound();
  if (!may(caller, project)) throw forbidden();
  return project;
}

function runIn<R extends Run>(exchange: Exchange, project: Project, kind: Kind<R>, hole: string): R {
  const run = kind.all(exchange.world).get(Number(exchange.params[hole]));
  if (run?.project !== project) throw notFound();
  return run;
}

/** The run of the path, for a caller who may see it; its id stands in the named hole. */
export function readable<R extends Run>(exchange: Exchange, kind: Kind<R>, hole = "id"): R {
  return runIn(exchange, projectOf(exchange), kind, hole);
}

/** The run of the path, for a caller who may change it. */
export function writable<R extends Run>(exchange: Exchange, kind: Kind<R>, hole = "id"): R {
  return runIn(exchange, projectOf(exchange, mayWrite), kind, hole);
}
