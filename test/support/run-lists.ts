import type { Answer } from "./gateway.ts";

/** The lists: what they are a field of, what names an item, and where the service has them, with parameters. */
const RUN_LISTS = {
  "Project.experiments": ['project(id: "ada.mnist")', "experiments", "internalId", "ada/mnist/experiments?"],
  "Project.jobs": ['project(id: "ada.mnist")', "jobs", "internalId", "ada/mnist/jobs?"],
  "Project.buildJobs": ['project(id: "ada.mnist")', "buildJobs", "internalId", "ada/mnist/builds?"],
  "Project.groups": ['project(id: "ada.mnist")', "groups", "internalId", "ada/mnist/groups?"],
  "Group.experiments": [
    'group(id: "ada.mnist.1")',
    "experiments",
    "internalId",
    "ada/mnist/experiments?group=1&",
  ],
  "User.projects": ['project(id: "ada.mnist") { owner', "projects", "name", "ada?"],
} as const;

export type RunList = keyof typeof RUN_LISTS;

export const RUN_LIST_NAMES = Object.keys(RUN_LISTS) as RunList[];

interface Page {
  readonly nodes: readonly { readonly key: string }[];
  readonly totalCount: number | null;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly endCursor: string | null;
  };
}

/** An operation on one list, with `$first` and `$after`. */
export function runListOperation(list: RunList): string {
  const [of, field, key] = RUN_LISTS[list];
  return `query ($first: Int, $after: String) {
    thing: ${of} {
      page: ${field}(first: $first, after: $after) {
        nodes { key: ${key} }
        totalCount
        pageInfo { hasNextPage hasPreviousPage endCursor }
      }
    ${of.includes("{") ? "} }" : "}"}
  }`;
}

/** A page that must be there, its items by what names them. */
export function runPageIn({ data, errors }: Answer<unknown>) {
  const { thing } = data as { thing: { page?: Page; owner?: { page: Page } } };
  const page = thing.owner?.page ?? thing.page;
  if (!page) throw new TypeError(`no page: ${JSON.stringify(errors)}`);
  const { pageInfo, totalCount, nodes } = page;
  return { keys: nodes.map(({ key }) => key), totalCount, ...pageInfo };
}

/** `GET ada/mnist/jobs?limit=2` for a list and the parameters of a page. */
export const runListCall = (list: RunList, parameters: string) =>
  `GET ${RUN_LISTS[list][3]}${parameters}`.replace(/[?&]$/, "");
