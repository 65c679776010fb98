import { createHash } from "node:crypto";

import type { Project, User } from "./model.ts";
import type { World } from "./store.ts";
import { projectName } from "./wire.ts";

/** The projects, for the rest of the seed to fill. */
export interface Projects {
  readonly mnist: Project;
  readonly speech: Project;
  readonly vision: Project;
}

/** One superuser, two users, and a newcomer who waits to be activated. */
export function seedUsers(world: World): void {
  addUser(world, "ada", { isSuperuser: true });
  addUser(world, "grace");
  addUser(world, "linus");
  addUser(world, "margaret", { isActive: false });
}

export function seedProjects(world: World): Projects {
  return {
    mnist: addProject(world, {
      id: 1,
      owner: "ada",
      name: "mnist",
      description: "Handwritten digits: how small can a network be?",
      tags: ["vision", "demo"],
      isPublic: true,
    }),
    speech: addProject(world, {
      id: 2,
      owner: "ada",
      name: "speech",
      description: "Spoken commands, not published yet",
      tags: ["audio"],
      isPublic: false,
    }),
    vision: addProject(world, {
      id: 3,
      owner: "grace",
      name: "vision",
      description: "Street scenes seen from a moving car",
      tags: ["vision"],
      isPublic: true,
    }),
  };
}

function addUser(
  world: World,
  username: string,
  roles: Partial<Pick<User, "isSuperuser" | "isActive">> = {},
): void {
  world.users.set(username, {
    username,
    password: `${username}-demo`,
    email: `${username}@example.com`,
    token: createHash("sha1").update(`demo token of ${username}`).digest("hex"),
    isSuperuser: false,
    isActive: true,
    ...roles,
  });
}

function addProject(world: World, given: Omit<Project, "createdAt">): Project {
  const project = { ...given, createdAt: Date.UTC(2026, 1, 9, 8, given.id * 7) };
  world.projects.set(projectName(project), project);
  return project;
}
