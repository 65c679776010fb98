import { InputError } from "../../errors.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { identify, quote } from "../core/ids.ts";
import type { Context } from "../core/context.ts";
import { type Address, type Kind, load, type Resource } from "../core/resource.ts";

/*
 * The service finds an experiment by its own number. In `ada.mnist.1.44` the number of its group says nothing to it: a slip there
 * would send a command to a run that has another name.
 */

/** Whether a name says more than the address that is in it. */
const saysMore = (id: string, { kind, address }: Resource): boolean =>
  id.includes(".") && kind.run !== null && kind.formatName(address) !== id;

/** Throws `InputError` for a name with the number of a group that is not that of the run. */
export function requireName(argument: string, id: string, run: Resource, own: unknown): void {
  if (!saysMore(id, run) || typeof own !== "string" || own === id) return;
  throw new InputError(
    `${argument}: expected the name of a run, got ${quote(id)}; run ${run.address["id"]} is ${own}`,
  );
}

/** Checks the name that a caller gave a run, before a command is sent. Costs a read if it has the number of a group. */
export async function checkName(
  argument: string,
  id: string,
  run: Resource,
  session: Context["session"],
): Promise<void> {
  if (!saysMore(id, run)) return;
  const { unique_name: own }: Partial<RunnableRecord> = await load(run, ["unique_name"], session);
  requireName(argument, id, run, own);
}

/** Finds the resource that a command is for, by global id or by a name that is its own. Throws `InputError`. */
export async function targetOf<R extends object, At extends Address>(
  kind: Kind<R, At>,
  id: string,
  { session }: Pick<Context, "session">,
): Promise<Resource<R, At>> {
  const target = identify(kind, "id", id);
  await checkName("id", id, target, session);
  return target;
}
