import { InputError, UpstreamError } from "../../errors.ts";
import { type ListRequest, splitGroup } from "../../rest/api/list-query.ts";
import type { GroupRecord } from "../../rest/api/records.ts";
import type { Server } from "../../rest/api/server.ts";
import type { Context } from "../core/context.ts";
import { kinds, type ProjectAddress } from "../core/kinds.ts";
import { load, toResource } from "../core/resource.ts";

/*
 * Selections: groups of experiments that somebody chose. Servers list their experiments, but have no condition for them.
 */

interface GroupInFilter {
  readonly argument: string;
  readonly id: string;
}

/** The groups, with the argument that names each, for which the server's language has to do, which knows no selections. */
export function groupsInFilter(
  { profile, omits }: Server,
  asked: Pick<ListRequest, "group" | "conditions">,
): readonly GroupInFilter[] {
  if (omits(kinds.group.record ?? "", "group_type")) return [];
  const { conditions } = splitGroup(profile, asked);
  return conditions.flatMap(({ key, argument, operands }) =>
    key === "group" ? operands.map((id) => ({ argument, id })) : [],
  );
}

/**
 * Checks by their records that groups are no selections, whose experiments would be missing without a sign. Throws
 * `InputError`.
 */
export async function checkGroups(
  groups: readonly GroupInFilter[],
  project: ProjectAddress,
  { session }: Pick<Context, "session">,
): Promise<void> {
  await Promise.all(
    groups.map(async ({ argument, id }) => {
      const group = toResource(kinds.group, { ...project, id });
      const { group_type: type } = await load(group, ["group_type"], session).catch(nothingIfMissing);
      if (type !== "selection") return;
      throw new InputError(
        `${argument}: expected a selection as the only ${kinds.group.name} of a list of a project, got ${kinds.group.formatName(group.address)} beside others`,
      );
    }),
  );
}

/** A group that does not exist has no experiments. */
function nothingIfMissing(error: unknown): Partial<GroupRecord> {
  if (error instanceof UpstreamError && error.code === "NOT_FOUND") return {};
  throw error;
}
