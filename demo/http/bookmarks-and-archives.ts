import type { Kind } from "../kinds.ts";
import type { JsonRecord } from "../records.ts";
import { stopRun } from "../simulation.ts";
import { isFinal, lastStatus } from "../statuses.ts";
import { bookmark as addBookmark, experimentsOf, type Keepable, type Run, type Store } from "../store.ts";
import { findWritable, requireUser, usernameOf } from "./accounts.ts";
import { page } from "./lists.ts";
import { type DemoRequest, empty, type Handler, notFound } from "./messages.ts";
import { compareBy } from "./orders.ts";
import { projectRow, rowOf } from "./reads.ts";

export function bookmark<R extends Run>(kind: Kind<R>, key = "id"): Handler {
  return (request) => {
    addBookmark(request.store, findWritable(request, kind, key), usernameOf(request));
    return empty(201);
  };
}

export function unbookmark<R extends Run>(kind: Kind<R>, key = "id"): Handler {
  return (request) => {
    findWritable(request, kind, key).bookmarkedBy.delete(usernameOf(request));
    return empty(204);
  };
}

/** Archives a run and stops it. Real servers do so a moment later, and delete it after some days. */
export function archive<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const run = findWritable(request, kind);
    setArchived(request.store, run, true);
    if (!isFinal(lastStatus(run))) stopRun(request.store, run);
    return empty(200);
  };
}

export function restore<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    setArchived(request.store, findWritable(request, kind), false);
    return empty(200);
  };
}

/** A group archives and restores all its experiments with it. */
function setArchived(store: Store, run: Run, isArchived: boolean): void {
  run.isArchived = isArchived;
  if (run.kind !== "group") return;
  for (const experiment of experimentsOf(store, run)) experiment.isArchived = isArchived;
}

/** The name of the user in the path, for that user and for superusers. Null for others, who get an empty list. */
function listedUser(request: DemoRequest): string | null {
  const caller = requireUser(request);
  const user = request.store.users.get(request.params["owner"] ?? "");
  if (!user) throw notFound();
  return caller.isSuperuser || caller === user ? user.username : null;
}

/** Lists a user's bookmarks of runs, the latest first. */
export function bookmarks<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const marked = bookmarkedBy(kind.all(request.store).values(), listedUser(request));
    return page(request, marked, (run) => bookmarkRow(rowOf(request, kind, run)));
  };
}

export const projectBookmarks: Handler = (request) => {
  const marked = bookmarkedBy(request.store.projects.values(), listedUser(request));
  return page(request, marked, (project) => bookmarkRow(projectRow(project, usernameOf(request))));
};

function bookmarkedBy<Kept extends Keepable>(records: Iterable<Kept>, user: string | null): readonly Kept[] {
  return [...records]
    .flatMap((record) => {
      const number = user === null ? undefined : record.bookmarkedBy.get(user);
      return number === undefined ? [] : [{ record, number }];
    })
    .toSorted((a, b) => b.number - a.number)
    .map(({ record }) => record);
}

function bookmarkRow(row: JsonRecord): JsonRecord {
  const { bookmarked: _, ...item } = row;
  return { content_object: item };
}

/** Lists a user's archived runs, the latest change first. */
export function archives<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const user = listedUser(request);
    const archived = [...kind.all(request.store).values()].filter(
      (run) => run.isArchived && run.user === user,
    );
    const sorted = archived.toSorted(compareBy("", kind.sortKeys));
    return page(request, sorted, (run) => ({ ...rowOf(request, kind, run), deleted: true }));
  };
}

export const projectArchives: Handler = (request) => {
  const user = listedUser(request);
  const archived = [...request.store.projects.values()].filter(
    (project) => project.isArchived && project.owner === user,
  );
  return page(request, archived.toReversed(), (project) => ({
    ...projectRow(project, usernameOf(request)),
    deleted: true,
  }));
};
