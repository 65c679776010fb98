import { UpstreamError } from "../../errors.ts";
import type { Context } from "../../graphql/core/context.ts";
import { identifyAmong, PARENTS } from "../../graphql/core/ids.ts";
import { kinds, type ProjectAddress } from "../../graphql/core/kinds.ts";
import { Experiment } from "../../graphql/core/refs.ts";
import { fetchMore, toResource } from "../../graphql/core/resource.ts";
import { type RunListArgs, readRuns, runListOf } from "../../graphql/types/run-list.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { ExportedRun } from "./run-columns.ts";

/** Whose runs are exported: a group's, or a project's. */
export interface Source {
  readonly address: ProjectAddress;
  readonly group: RunAddress | null;
  /** Its unique name. */
  readonly name: string;
}

/** Finds the source by its global id or unique name. Throws `InputError`. */
export function sourceOf(id: string): Source {
  const { kind, address } = identifyAmong(PARENTS, "id", id);
  const name = kind.formatName(address);
  // Safe: addresses have the parameters of their kind. The same applies below.
  if (kind.name === kinds.project.name) return { address: address as ProjectAddress, group: null, name };
  const group = address as RunAddress;
  return { address: group, group, name };
}

/** A part of the list of runs. */
export interface RunPage {
  readonly runs: readonly ExportedRun[];
  /** Length of the whole list; null when unknown. */
  readonly count: number | null;
  /** Where the list goes on; null at its end. */
  readonly next: string | null;
}

const list = runListOf(Experiment.kind);

/** Reads the page behind a cursor. */
export async function readRunPage(
  { address, group }: Source,
  args: RunListArgs,
  after: string | null,
  context: Context,
): Promise<RunPage> {
  const paged = {
    ...args,
    order: args.order ?? defaultOrder(context),
    first: context.gateway.maxPageSize,
    after,
  };
  const page = await readRuns({ list, address, listedIn: group }, paged, context);
  // The service returns an empty list for a group that does not exist.
  if (group && after === null && page.nodes.length === 0)
    await fetchMore(toResource(kinds.group, group), [], context.session);
  const next = page.hasNext ? page.endCursor() : null;
  // The list would end too early, or never.
  if (page.hasNext && (next === null || next === after))
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's list does not go on.");
  return {
    // Safe: they are the experiments of the list.
    runs: [...page.nodes] as readonly ExportedRun[],
    count: page.count,
    next,
  };
}

/** The oldest first, where the server can: what begins meanwhile then comes last, and nothing moves. */
const defaultOrder = ({ server }: Context): RunListArgs["order"] =>
  server.profile.orders.CREATED_ASC ? { field: "CREATED", direction: "ASC" } : null;
