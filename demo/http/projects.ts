import { projectName } from "../records.ts";
import { addProject } from "../seed/people.ts";
import { removeProject } from "../simulation.ts";
import { bookmark as addBookmark, nextId, type Project } from "../store.ts";
import { mayWrite, projectOf, requireUser, usernameOf } from "./accounts.ts";
import { changed } from "./commands.ts";
import {
  type DemoRequest,
  type DemoResponse,
  empty,
  fieldsOf,
  flagField,
  HttpError,
  json,
  slugField,
  textField,
  textsField,
} from "./messages.ts";
import { projectRecord } from "./reads.ts";

// Bookmarks need no right to change a project, unlike those of runs.
export function bookmark(request: DemoRequest): DemoResponse {
  addBookmark(request.store, projectOf(request), usernameOf(request));
  return empty(201);
}

export function unbookmark(request: DemoRequest): DemoResponse {
  projectOf(request).bookmarkedBy.delete(usernameOf(request));
  return empty(204);
}

export const setArchived =
  (isArchived: boolean) =>
  (request: DemoRequest): DemoResponse => {
    projectOf(request, mayWrite).isArchived = isArchived;
    return empty(200);
  };

/** The changes of a project that a body contains. The whole body is read before anything is changed. */
function changesIn(request: DemoRequest): Partial<Project> {
  const { is_public: isPublic, ...fields } = fieldsOf(request.body());
  return {
    ...(fields["name"] !== undefined && { name: slugField("name", fields["name"]) }),
    ...changed(fields, "description", textField),
    ...changed(fields, "readme", textField),
    ...changed(fields, "tags", textsField),
    ...(isPublic !== undefined && { isPublic: flagField("is_public", isPublic) }),
  };
}

function checkUnused({ store }: DemoRequest, { owner, name }: Pick<Project, "owner" | "name">): void {
  if (store.projects.has(projectName({ owner, name }))) {
    throw new HttpError(400, [`A project with name \`${name}\` already exists.`]);
  }
}

export function update(request: DemoRequest): DemoResponse {
  const { store } = request;
  const project = projectOf(request, mayWrite);
  const changes = changesIn(request);
  const { name = project.name } = changes;
  if (name !== project.name) checkUnused(request, { owner: project.owner, name });
  store.projects.delete(projectName(project));
  Object.assign(project, changes, { updatedAt: store.time });
  store.projects.set(projectName(project), project);
  return json(200, projectRecord(request, project));
}

export function create(request: DemoRequest): DemoResponse {
  const { store } = request;
  const { username: owner } = requireUser(request);
  const { name, ...given } = changesIn(request);
  if (name === undefined) throw new HttpError(400, { name: ["This field is required."] });
  checkUnused(request, { owner, name });
  const unset = { description: null, readme: null, tags: null, isPublic: true };
  const project = addProject(
    store,
    { ...unset, ...given, id: nextId(store, "project"), owner, name },
    store.time,
  );
  return json(201, projectRecord(request, project));
}

export function remove(request: DemoRequest): DemoResponse {
  removeProject(request.store, projectOf(request, mayWrite));
  return empty(204);
}
