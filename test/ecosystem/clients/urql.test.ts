import { EventEmitter, once } from "node:events";
import { cacheExchange, Client, fetchExchange, gql } from "@urql/core";
import { expect, onTestFinished, test } from "vitest";
import { ExperimentPageDocument, NestedRunGraphDocument } from "../../generated/graphql.ts";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";

const EXPERIMENT = "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI";

/** Starts a gateway, and creates clients that record the methods of their requests. */
async function start() {
  const { url, calls, demo } = await startDemoGateway();
  const methods: string[] = [];
  const connect = (options: { readonly preferGetMethod?: false } = {}) =>
    new Client({
      url: `${url}/graphql`,
      exchanges: [cacheExchange, fetchExchange],
      fetchOptions: { headers: { authorization: `token ${tokenOf(demo, "ada")}` } },
      fetch: (input, sending) => {
        methods.push(sending?.method ?? "GET");
        return fetch(input, sending);
      },
      ...options,
    });
  /** The methods since the previous call. */
  const sent = () => methods.splice(0);
  return { connect, client: connect(), sent, calls };
}

const RUN = { id: "ada.mnist.42" };
const PAGE_CALLS = [
  "GET ada/mnist/builds/2/",
  "GET ada/mnist/experiments/42/",
  "GET ada/mnist/experiments/42/statuses",
];

test("sends a query by GET, with the same response as POST", async () => {
  const { connect, client, sent, calls } = await start();
  const got = await client.query(ExperimentPageDocument, RUN);
  expect(sent()).toEqual(["GET"]);
  expect(calls()).toEqual(PAGE_CALLS);

  const posted = await connect({ preferGetMethod: false }).query(ExperimentPageDocument, RUN);
  expect(sent()).toEqual(["POST"]);
  expect(calls()).toEqual(PAGE_CALLS);

  expect(got.error).toBeUndefined();
  expect(got.data).toMatchObject({
    experiment: { id: EXPERIMENT, status: "SUCCEEDED", statuses: { totalCount: 6 } },
  });
  expect(got.data).toEqual(posted.data);
});

test("sends a document by POST when its URL exceeds 2048 characters", async () => {
  const { client, sent, calls } = await start();
  const { data, error } = await client.query(NestedRunGraphDocument, RUN);
  expect(error).toBeUndefined();
  expect(data?.experiment?.buildJob?.uniqueName).toBe("ada.mnist.builds.2");
  expect(data?.experiment?.jobs?.nodes).toHaveLength(4);
  expect(sent()).toEqual(["POST"]);
  expect(calls()).toHaveLength(16);
});

test("sends a mutation by POST, and refetches affected queries by GET", async () => {
  const { client, sent, calls } = await start();
  const page = new EventEmitter();
  const { unsubscribe } = client
    .query(gql(`{ job(id: "ada.mnist.jobs.2") { status uniqueName } }`), {})
    .subscribe(({ data, stale }) => stale || page.emit("shown", data.job.status));
  onTestFinished(unsubscribe);
  expect(await once(page, "shown")).toEqual(["RUNNING"]);
  expect(sent()).toEqual(["GET"]);
  expect(calls()).toEqual(["GET ada/mnist/jobs/2/"]);

  const shownAgain = once(page, "shown");
  const stopped = await client.mutation(
    gql(`mutation Stop($id: ID!) { stopJob(id: $id, force: true) { job { id status } } }`),
    { id: "ada.mnist.jobs.2" },
  );
  expect(stopped.data).toMatchObject({
    stopJob: { job: { id: "Sm9iOmFkYS9tbmlzdC8y", status: "STOPPING" } },
  });
  expect(await shownAgain).toEqual(["STOPPING"]);
  expect(sent()).toEqual(["POST", "GET"]);
  expect(calls()).toEqual(["GET ada/mnist/jobs/2/", "GET ada/mnist/jobs/2/", "POST ada/mnist/jobs/2/stop"]);
});
