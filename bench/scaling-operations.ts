import { send, authorizationOf } from "./peers/load.ts";
import { operation, type Operation, PAGE } from "./peers/operations.ts";

/** An operation and the number of upstream objects in its response. */
export interface Sized {
  readonly title: string;
  readonly operation: Operation;
  readonly objects: number;
}

const ROW = `nodes {
  internalId uniqueName status startedAt finishedAt
  buildJob { uniqueName status }
  experimentGroup { uniqueName searchAlgorithm }
}`;

const listOf = (first: number, after?: string): string =>
  `experiments(first: ${first}${after ? `, after: "${after}"` : ""})`;

const project = (fields: string) => `{ project(id: "root.quick-start") { ${fields} } }`;

const list = (first: number): Operation =>
  operation("List", `query List ${project(`${listOf(first)} { ${ROW} }`)}`);

const PAGE_LENGTH = 500;
const PAGES = 10;

/** Ten pages of a list in one operation. The cursors come from the measured gateway, because versions can differ in their cursors. */
async function pages(url: string): Promise<Operation> {
  const starts: (string | undefined)[] = [undefined];
  while (starts.length < PAGES) {
    const query = project(`${listOf(PAGE_LENGTH, starts.at(-1))} { pageInfo { endCursor } }`);
    const { text } = await send(url, { body: JSON.stringify({ query }), authorization: authorizationOf(0) });
    starts.push(/"endCursor":"([^"]+)"/.exec(text)?.[1]);
  }
  const fields = starts.map((after, index) => `page${index}: ${listOf(PAGE_LENGTH, after)} { ${ROW} }`);
  return operation("Pages", `query Pages ${project(fields.join("\n"))}`);
}

const ENTITIES = operation(
  "Entities",
  "query Entities($of: [_Any!]!) { _entities(representations: $of) { ... on Experiment { uniqueName status } } }",
  [
    {
      of: Array.from({ length: 100 }, (_, index) => ({
        __typename: "Experiment",
        id: Buffer.from(`Experiment:root/quick-start/${index + 1}`).toString("base64url"),
      })),
    },
  ],
);

const STOP = operation(
  "Stop",
  `mutation Stop($id: ID!) {
    stopExperiment(id: $id) { experiment { internalId status buildJob { uniqueName status commit } } }
  }`,
  PAGE.variables,
);

/** The measured operations. The first two are those of a dashboard. */
export const operationsOf = async (url: string): Promise<readonly [Sized, Sized, ...Sized[]]> => [
  { title: "page of a run", operation: PAGE, objects: 1 },
  { title: "list of 50 runs", operation: list(50), objects: 50 },
  { title: "list of 500 runs", operation: list(500), objects: 500 },
  { title: "ten pages of 500 runs", operation: await pages(url), objects: 5_000 },
  { title: "100 entities of a router", operation: ENTITIES, objects: 100 },
  { title: "mutation with a selection", operation: STOP, objects: 1 },
];
