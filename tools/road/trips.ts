import { globalId } from "../../test/support/ids.ts";
import type { Traveller } from "./traveller.ts";

export interface Trip {
  /** What comes once, before all. */
  readonly begin?: (traveller: Traveller) => Promise<void>;
  /** Gives the text that comes back. */
  readonly go: (traveller: Traveller) => Promise<string>;
  /** Stands in the text unless something went wrong. */
  readonly shows: string;
}

/** The service behind the gateway: its answers by their paths. The second experiment has another status at each read. */
export const SERVICE: Readonly<Record<string, (reads: number) => unknown>> = {
  "ada/mnist/experiments/1/": () => ({
    id: 1,
    unique_name: "ada.mnist.1",
    last_status: "running",
    build_job: "ada.mnist.builds.7",
  }),
  "ada/mnist/experiments/2/": (reads) => ({
    id: 2,
    unique_name: "ada.mnist.2",
    last_status: reads % 2 === 0 ? "running" : "starting",
    build_job: "ada.mnist.builds.7",
  }),
  "ada/mnist/builds/7/": () => ({ id: 7, unique_name: "ada.mnist.builds.7", last_status: "succeeded" }),
  "ada/mnist/experiments/1/stop": () => ({}),
  "ada/mnist/experiments/1/outputs": () => "0123456789",
};

const experimentId = (id: number) => globalId(`Experiment:ada/mnist/${id}`);

const WITH_BUILD = "query ($id: ID!) { experiment(id: $id) { id name status buildJob { id status } } }";
const ALONE = "query ($id: ID!) { experiment(id: $id) { id status } }";
const STOP = "mutation ($id: ID!) { stopExperiment(id: $id) { experiment { id status } } }";
const CHANGES =
  "subscription ($id: ID!) { runUpdated(id: $id) { run { id status ... on Experiment { buildJob { id status } } } } }";

const operation =
  (query: string, variables?: object): Trip["go"] =>
  ({ post }) =>
    post("/graphql", { query, variables });

/** The trips through the gateway that are counted. */
export const TRIPS = {
  "{ __typename }": { go: operation("{ __typename }"), shows: '{"data":{"__typename":"Query"}}' },
  "an experiment with its build": {
    go: operation(WITH_BUILD, { id: experimentId(1) }),
    shows: '"status":"SUCCEEDED"',
  },
  "a mutation": { go: operation(STOP, { id: experimentId(1) }), shows: '"status":"RUNNING"' },
  "an event of a subscription": {
    begin: ({ subscribe }) => subscribe({ query: CHANGES, variables: { id: experimentId(2) } }),
    go: ({ event }) => event(),
    shows: '"data":{"runUpdated"',
  },
  "a download": { go: ({ get }) => get(`/downloads/${experimentId(1)}/outputs`), shows: "0123456789" },
  "a call of a tool": {
    go: ({ post }) =>
      post("/mcp", {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "graphql_query",
          arguments: { query: ALONE, variables: { id: experimentId(1) } },
        },
      }),
    shows: "RUNNING",
  },
} as const satisfies Record<string, Trip>;

export type TripName = keyof typeof TRIPS;

export const tripNames = Object.keys(TRIPS) as readonly TripName[];
