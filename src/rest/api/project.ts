import { del, get, json, optional, patch, post } from "./endpoint.ts";
import { P, type Revision } from "./kind.ts";
import { BookmarkedProjects, Project, PROJECT_KEYS, Projects } from "./optional-records.ts";
import { Nothing } from "./reader.ts";

/** Projects, which the document does not describe. */
export const project = {
  records: "projects",
  keys: PROJECT_KEYS,
  optional: {
    list: optional("projects", "LISTS", get("{owner}", Projects)),
    read: optional("project", "PROJECT_RECORDS", get(P, Project)),
    bookmarked: optional(
      "bookmarkedProjects",
      "BOOKMARKS",
      get("bookmarks/{owner}/projects", BookmarkedProjects),
    ),
    archived: optional("archivedProjects", "ARCHIVES", get("archives/{owner}/projects", Projects)),
    bookmark: optional("bookmarkProject", "PROJECT_BOOKMARKS", post(`${P}/bookmark`, Nothing)),
    unbookmark: optional("unbookmarkProject", "PROJECT_BOOKMARKS", del(`${P}/unbookmark`, Nothing)),
    archive: optional("archiveProject", "PROJECT_ARCHIVES", post(`${P}/archive`, Nothing)),
    restore: optional("restoreProject", "PROJECT_ARCHIVES", post(`${P}/restore`, Nothing)),
    update: optional("updateProject", "PROJECT_COMMANDS", patch(P, Project, json<Revision>())),
    create: optional("createProject", "PROJECT_COMMANDS", post("projects", Project, json<Revision>())),
    delete: optional("deleteProject", "PROJECT_COMMANDS", del(P, Nothing)),
  },
} as const;
