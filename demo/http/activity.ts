import { builds, experiments, groups, jobs, type Kind } from "../kinds.ts";
import { projectName, timestamp } from "../records.ts";
import type { Activity } from "../notes.ts";
import { nextId, type Project, type Run, type Store } from "../store.ts";
import { mayRead, requireUser } from "./accounts.ts";
import { page } from "./lists.ts";
import { type DemoRequest, type Handler, notFound } from "./messages.ts";

/*
 * What users do and look at. Actions and subjects are spelled as in the source of release 0.4.4.
 */

/** Most entries that are kept. */
const maxEntries = 1_000;

interface Listed {
  readonly subject: string;
  readonly all: (store: Store) => ReadonlyMap<number, Run>;
  readonly record: (store: Store, run: never, viewer: string) => Readonly<Record<string, unknown>>;
}
const listed = <R extends Run>(subject: string, { all, record }: Kind<R>): Listed => ({
  subject,
  all,
  record,
});

const kinds = new Map<string, Listed>([
  ["experiments", listed("experiment", experiments)],
  ["jobs", listed("job", jobs)],
  ["builds", listed("build_job", builds)],
  ["groups", listed("experiment_group", groups)],
]);

/** What a command does, by its method and the end of its path. */
const actions = new Map([
  ["GET ", "viewed"],
  ["PATCH ", "updated"],
  ["DELETE ", "deleted"],
  ["POST restart", "restarted"],
  ["POST resume", "resumed"],
  ["POST copy", "copied"],
  ["POST stop", "stopped"],
  ["POST archive", "archived"],
  ["POST restore", "restored"],
  ["POST bookmark", "bookmarked"],
  ["DELETE unbookmark", "unbookmarked"],
]);

const pattern =
  /^(\w+) \{owner\}\/\{project\}(?:\/(experiments|jobs|builds|groups)\/\{(\w+)\})?(?:\/(\w+))?\/?$/;

/** What a request is about to do, if that is noted. */
export function activityOf({ store, caller, params }: DemoRequest, route: string): Activity | null {
  const [, method = "", list, key = "", end = ""] = pattern.exec(route) ?? [];
  const action = actions.get(`${method} ${end}`);
  const { owner = "", project: name = "" } = params;
  const project = store.projects.get(projectName({ owner, name }));
  if (!caller || !action || !project) return null;
  const { username: actor } = caller;
  const given = { action, actor, at: store.time, project };
  if (list === undefined) return entry(store, { ...given, subject: "project", ...objectOf(project) });
  const kind = kinds.get(list);
  const run = kind?.all(store).get(Number(params[key]));
  return kind && run ? entryOfRun(store, kind, run, given) : null;
}

const objectOf = (project: Project) => ({ objectId: project.id, objectName: projectName(project) });

const entry = (store: Store, given: Omit<Activity, "id">): Activity => ({
  id: nextId(store, "activity"),
  ...given,
});

function entryOfRun(
  store: Store,
  { subject, record }: Listed,
  run: Run,
  given: Pick<Activity, "action" | "actor" | "at" | "project">,
): Activity {
  // Safe: the run is one of the kind.
  const { unique_name: objectName } = record(store, run as never, given.actor);
  return entry(store, { ...given, subject, objectId: run.id, objectName: String(objectName) });
}

export function note({ notes }: Store, activity: Activity): void {
  notes.activity.unshift(activity);
  if (notes.activity.length > maxEntries) notes.activity.pop();
}

/** Notes who created the runs that are there. */
export function noteCreations(store: Store): void {
  const created = [...kinds.values()].flatMap((kind) =>
    [...kind.all(store).values()].map((run) => ({ kind, run })),
  );
  for (const { kind, run } of created.toSorted((a, b) => a.run.createdAt - b.run.createdAt)) {
    const { user: actor, createdAt: at, project } = run;
    note(store, entryOfRun(store, kind, run, { action: "created", actor, at, project }));
  }
}

const entryRecord = ({ id, action, subject, actor, at, objectId, objectName }: Activity) => ({
  id,
  event_action: action,
  event_subject: subject,
  actor,
  created_at: timestamp(at),
  object_id: objectId,
  object_name: objectName,
});

/** A list of the entries that match, the latest first. */
const list =
  (matching: (request: DemoRequest) => (activity: Activity) => boolean): Handler =>
  (request) =>
    page(request, request.store.notes.activity.filter(matching(request)), entryRecord);

const isView = ({ action }: Activity) => action === "viewed";

export const ofCaller = list((request) => {
  const { username } = requireUser(request);
  return (activity) => activity.actor === username && !isView(activity);
});

export const history = list((request) => {
  const { username } = requireUser(request);
  return (activity) => activity.actor === username && isView(activity);
});

/** Of a project that the caller may not see, the list is empty, as recorded. */
export const ofProject = list((request) => {
  const caller = requireUser(request);
  const { owner = "", project: name = "" } = request.params;
  const project = request.store.projects.get(projectName({ owner, name }));
  if (!project) throw notFound();
  return (activity) => activity.project === project && mayRead(caller, project) && !isView(activity);
});
