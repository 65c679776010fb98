import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { startProgram } from "../../support/main-process.ts";
import { LONG_TIMEOUT } from "../../support/long-timeout.ts";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));

/** A folder with the packages of `test/ecosystem`, and the gateway that was built in `gateway` as the package `rungraph`. */
export async function createAppFolder(gateway: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "recipe-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = join(root, "app");
  await mkdir(folder);
  await symlink(PACKAGES, join(folder, "node_modules"));
  // Node.js also looks for packages in the parent folder.
  await mkdir(join(root, "node_modules"));
  await symlink(gateway, join(root, "node_modules/rungraph"));
  return folder;
}

/** Starts a server in a folder on a free port. */
export async function startServer(command: string, folder: string) {
  const PORT = `${await freePort()}`;
  const server = startProgram(command.split(" "), { PORT }, folder);
  const url = `http://127.0.0.1:${PORT}`;
  const isUp = () => fetch(url).then(Boolean, () => false);
  const failed = server.ended.then((code): never => {
    throw new Error(`${command} ended with ${code}: ${server.err()}`);
  });
  failed.catch(() => {});
  await Promise.race([vi.waitUntil(isUp, LONG_TIMEOUT), failed]);
  return { ...server, url };
}
