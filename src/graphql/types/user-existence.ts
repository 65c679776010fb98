import { project } from "../../rest/api/kinds.ts";
import { START } from "../../rest/session/list-position.ts";
import { readStep } from "../../rest/session/page-reader.ts";
import { NO_ORDER } from "../../rest/session/ties.ts";
import type { Context } from "../core/context.ts";
import { readViewer } from "../core/kinds.ts";
import type { User } from "../core/refs.ts";
import { nullIfNotFound } from "../core/resource.ts";

/**
 * Whether a user exists; null if the service does not report it. Known servers return an empty list of projects both for a user who does
 * not exist and for a user whose projects are all private.
 */
export async function existsAs(
  { address: { username }, loaded }: typeof User.$inferType,
  _args: object,
  { session }: Context,
): Promise<boolean | null> {
  const { list: endpoint } = project.optional;
  if (loaded.is_viewer || session.knownViewer() === username) return true;
  if (session.server.override(endpoint)) {
    const list = { endpoint, address: { owner: username }, sortedBy: NO_ORDER };
    const step = await readStep(session, list, START, 1).catch(nullIfNotFound);
    if (!step) return false;
    if (step.rest.length > 0) return true;
  }
  return (await readViewer(session)).username === username || null;
}
