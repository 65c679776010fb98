import {
  createOperationDescriptor,
  fetchQuery,
  getFragment,
  getRequest,
  getSingularSelector,
} from "relay-runtime";
import { expect, test } from "vitest";
import { startRelay } from "./relay-frontend.ts";

const EXPERIMENT = "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI";
/** Names that Relay requires in a schema: `interface Node` and `node(id:)`. */
const RELAY_NAMES = { TYPE_NAMES: "Node=ClusterNode,Entity=Node" };

const STATUSES = ["CREATED", "BUILDING", "SCHEDULED", "STARTING", "RUNNING", "SUCCEEDED"];

/** The statuses in a timeline, and the page info that it needs to continue. */
function statusesIn(shown: unknown) {
  // Safe: these tests show a run with its statuses.
  const { statuses } = (shown as { run: { statuses: Timeline } }).run;
  return { statuses: statuses.edges.map(({ node }) => node.status), ...statuses.pageInfo };
}

interface Timeline {
  readonly edges: readonly { readonly node: { readonly status: string } }[];
  readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean };
}

const Header = `fragment Header_run on Run {
  uniqueName
  status
  project { name }
  ... on Experiment { cloningStrategy }
}`;

test("a fragment on an interface reads its data for any run kind", async () => {
  const { load, read, calls } = await startRelay({
    Header,
    Page: `query PageQuery($id: ID!) { run(id: $id) { ...Header_run } }`,
  });
  const experiment = await load("PageQuery", { id: EXPERIMENT });
  expect(experiment["run"]).not.toHaveProperty("status");
  expect(await read("Header_run", experiment["run"])).toEqual({
    uniqueName: "ada.mnist.42",
    status: "SUCCEEDED",
    project: { name: "mnist" },
    cloningStrategy: "RESTART",
  });
  const job = await load("PageQuery", { id: "Sm9iOmFkYS9tbmlzdC8y" });
  expect(await read("Header_run", job["run"])).toEqual({
    uniqueName: "ada.mnist.jobs.2",
    status: "RUNNING",
    project: { name: "mnist" },
  });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/jobs/2/"]);
});

test("the store appends a connection's second page to the first", async () => {
  const { load, look, calls } = await startRelay({
    Timeline: `query TimelineQuery($after: String) {
      run(id: "${EXPERIMENT}") {
        statuses(first: 4, after: $after) @connection(key: "Timeline_statuses") {
          edges { node { status } }
          pageInfo { endCursor hasNextPage }
        }
      }
    }`,
  });
  const first = statusesIn(await load("TimelineQuery", {}));
  expect(first).toMatchObject({ statuses: STATUSES.slice(0, 4), hasNextPage: true });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/statuses?limit=100"]);

  await load("TimelineQuery", { after: first.endCursor });
  const shown = statusesIn(await look("TimelineQuery", {}));
  expect(shown).toMatchObject({ statuses: STATUSES, hasNextPage: false });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/statuses?limit=100"]);
});

test("@catch returns a failed field's code, and other fields are kept", async () => {
  const { load, calls } = await startRelay({
    Partly: `query PartlyQuery {
      there: experiment(id: "ada.mnist.42") { uniqueName }
      gone: experiment(id: "ada.mnist.999") @catch(to: RESULT) { status }
    }`,
  });
  expect(await load("PartlyQuery", {})).toMatchObject({
    there: { uniqueName: "ada.mnist.42" },
    gone: { ok: false, errors: [{ extensions: { code: "NOT_FOUND" } }] },
  });
  // Both records are looked up together. The record that is missing from the list is read alone.
  expect(calls()).toEqual([
    "GET ada/mnist/experiments/999/",
    "GET ada/mnist/experiments?query=id%3A42%7C999&limit=100",
  ]);
});

const Card = `fragment Card_experiment on Experiment @refetchable(queryName: "CardRefetchQuery") { description }`;
const Page = `query PageQuery { experiment(id: "ada.mnist.42") { ...Card_experiment } }`;

test("with default names, the compiler rejects @refetchable for lack of `interface Node`", async () => {
  await expect(startRelay({ Card, Page })).rejects.toThrow(
    /Invalid use of @refetchable on fragment 'Card_experiment'.* the Node interface/s,
  );
});

test("with Relay's names, a record is refetched by its id", async () => {
  const { load, read, ask, calls } = await startRelay({ Card, Page }, RELAY_NAMES);
  const { experiment } = await load("PageQuery", {});
  expect(await read("Card_experiment", experiment)).toEqual({
    id: EXPERIMENT,
    description: "Wider kernels and a calmer learning rate, trained on three machines",
  });
  // Another client changes the record without the store's knowledge.
  await ask(
    `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "The best" }) { __typename } }`,
  );
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "PATCH ada/mnist/experiments/42/"]);

  await load("CardRefetchQuery", { id: EXPERIMENT });
  expect(await read("Card_experiment", experiment)).toEqual({ id: EXPERIMENT, description: "The best" });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/"]);
});

test("with Relay's names, a record's list is paged by the record's id", async () => {
  const documents = {
    Log: `fragment Log_run on Run
      @argumentDefinitions(count: { type: "Int", defaultValue: 4 }, cursor: { type: "String" })
      @refetchable(queryName: "LogPaginationQuery") {
        statuses(first: $count, after: $cursor) @connection(key: "Log_statuses") {
          edges { node { status } }
          pageInfo { endCursor hasNextPage }
        }
      }`,
    Page: `query PageQuery { run(id: "${EXPERIMENT}") { ...Log_run } }`,
  };
  const { load, read, calls } = await startRelay(documents, RELAY_NAMES);
  const { run: reference } = await load("PageQuery", {});
  const first = statusesIn({ run: await read("Log_run", reference) });
  expect(first).toMatchObject({ statuses: STATUSES.slice(0, 4), hasNextPage: true });

  await load("LogPaginationQuery", { id: EXPERIMENT, count: 4, cursor: first.endCursor });
  const shown = statusesIn({ run: await read("Log_run", reference) });
  expect(shown).toMatchObject({ statuses: STATUSES, hasNextPage: false });
  expect(calls()).toEqual([
    "GET ada/mnist/experiments/42/statuses?limit=100",
    "GET ada/mnist/experiments/42/statuses?limit=100",
  ]);
});

interface Table {
  readonly project: {
    readonly experiments: { readonly nodes: readonly { readonly status: string }[] };
  };
}

const fail = (): never => {
  throw new TypeError("expected a run with the fragment");
};

test("a deferred fragment is shown when its payload arrives", async () => {
  const { environment, artifact, calls } = await startRelay({
    Table: `query TableQuery {
      project(id: "ada.mnist") { experiments(first: 3) { nodes { status ...Details_run @defer } } }
    }`,
    Details: `fragment Details_run on Experiment { buildJob { commit } }`,
  });
  const table = await artifact("TableQuery");
  const operation = createOperationDescriptor(getRequest(table), {});
  const details = getFragment(await artifact("Details_run"));
  /** The data that components show at once: the statuses, and the available commits. */
  const shown = () => {
    // Safe: the query selects it.
    const { project } = environment.lookup(operation.fragment).data as unknown as Table;
    return project.experiments.nodes.map((row) => {
      const { data } = environment.lookup(getSingularSelector(details, row) ?? fail());
      return [row.status, (data as { buildJob?: { commit: string } }).buildJob?.commit];
    });
  };
  const states: unknown[] = [];
  await new Promise<void>((complete, error: (problem: Error) => void) => {
    fetchQuery(environment, table, {}).subscribe({ next: () => void states.push(shown()), complete, error });
  });
  const statuses = shown().map(([status]) => status);
  expect(states[0]).toEqual(statuses.map((status) => [status, undefined]));
  expect(shown()).toEqual(statuses.map((status) => [status, expect.any(String)]));
  expect(calls()).toHaveLength(2);
});
