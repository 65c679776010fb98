import { del, get, json, optional, patch, post } from "./endpoint.ts";
import { P, type Revision } from "./kind.ts";
import { bookmarksOf, json as jsonOf, Nothing, pageOf } from "./reader.ts";
import {
  flag,
  integer,
  keysOf,
  recordOf,
  type RecordOf,
  requiredText,
  text,
  texts,
  timestamp,
} from "./record.ts";

/** The name is required because it identifies the project. */
const ProjectKeys = {
  name: requiredText,
  unique_name: text,
  description: text,
  readme: text,
  tags: texts,
  is_public: flag,
  bookmarked: flag,
  deleted: flag,
  created_at: timestamp,
  updated_at: timestamp,
  num_experiments: integer,
  num_experiment_groups: integer,
  num_jobs: integer,
  num_builds: integer,
};
export type ProjectRecord = RecordOf<typeof ProjectKeys>;

const readProject = recordOf(ProjectKeys);
const Project = jsonOf(readProject);
const Projects = pageOf(readProject);

/** Projects, which the document does not describe. */
export const project = {
  records: "projects",
  keys: keysOf(ProjectKeys),
  optional: {
    list: optional("projects", "LISTS", get("{owner}", Projects)),
    read: optional("project", "PROJECT_RECORDS", get(P, Project)),
    bookmarked: optional(
      "bookmarkedProjects",
      "BOOKMARKS",
      get("bookmarks/{owner}/projects", bookmarksOf(readProject)),
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
