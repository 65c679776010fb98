import { createHash } from "node:crypto";

import { projectName } from "../records.ts";
import { bookmark, type Keepable, type Project, type Store, type User } from "../store.ts";

/** The projects that the rest of the seed fills. */
export type Projects = Readonly<Record<"mnist" | "speech" | "vision", Project>>;

/** One superuser, two users, and one who is not active yet. */
export function seedUsers(store: Store): void {
  addUser(store, "ada", { isSuperuser: true });
  addUser(store, "grace");
  addUser(store, "linus");
  addUser(store, "margaret", { isActive: false });
}

export function seedProjects(store: Store): Projects {
  const attic = addProject(store, {
    id: 5,
    owner: "ada",
    name: "attic",
    description: "What was before the digits",
    readme: null,
    tags: [],
    isPublic: true,
  });
  attic.isArchived = true;
  const projects = {
    mnist: addProject(store, {
      id: 1,
      owner: "ada",
      name: "mnist",
      description: "Handwritten digits: how small can a network be?",
      readme:
        "# MNIST\n\nHow few weights still read 99 % of the digits?\n\n- Group 1 searches widely, group 2 around its best corner.\n- Experiment 42 is the candidate.\n",
      tags: ["vision", "demo"],
      isPublic: true,
    }),
    speech: addProject(store, {
      id: 2,
      owner: "ada",
      name: "speech",
      description: "Spoken commands, not published yet",
      readme: null,
      tags: ["audio"],
      isPublic: false,
    }),
    vision: addProject(store, {
      id: 3,
      owner: "grace",
      name: "vision",
      description: "Street scenes seen from a moving car",
      readme: "# Vision\n\nTiles of 256 pixels, cut by job 7.\n",
      tags: ["vision"],
      isPublic: true,
    }),
  };
  bookmark(store, projects.vision, "ada");
  return projects;
}

function addUser(
  store: Store,
  username: string,
  roles: Partial<Pick<User, "isSuperuser" | "isActive">> = {},
): void {
  store.users.set(username, {
    username,
    password: `${username}-demo`,
    email: `${username}@example.com`,
    token: createHash("sha1").update(`demo token of ${username}`).digest("hex"),
    isSuperuser: false,
    isActive: true,
    ...roles,
  });
}

export function addProject(
  store: Store,
  given: Omit<Project, "createdAt" | "updatedAt" | keyof Keepable>,
  createdAt = Date.UTC(2026, 1, 9, 8, given.id * 7),
): Project {
  store.lastIds.set("project", Math.max(given.id, store.lastIds.get("project") ?? 0));
  const project: Project = {
    ...given,
    createdAt,
    updatedAt: createdAt,
    bookmarkedBy: new Map(),
    isArchived: false,
  };
  store.projects.set(projectName(project), project);
  return project;
}
