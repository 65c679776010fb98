import { bookmarksOf, pageOf } from "./page.ts";
import { json } from "./reader.ts";
import {
  keysOf,
  recordOf,
  type RecordOf,
  flag,
  integer,
  requiredText,
  text,
  texts,
  timestamp,
} from "./record.ts";

/*
 * One reader per record of the optional endpoints, which are not in the service's document, as in `records.ts`.
 */

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

/** The code that an experiment ran. Of an experiment without one, the service sends empty texts. */
const CodeReferenceKeys = {
  branch: text,
  commit: text,
  head: text,
  is_dirty: flag,
  git_url: text,
};
export type CodeReferenceRecord = RecordOf<typeof CodeReferenceKeys>;

const readProject = recordOf(ProjectKeys);

export const Project = json(readProject);
export const Projects = pageOf(readProject);
export const BookmarkedProjects = bookmarksOf(readProject);
export const CodeReference = json(recordOf(CodeReferenceKeys));

export const PROJECT_KEYS = keysOf(ProjectKeys);
