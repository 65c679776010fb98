import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
  type TypedDocumentNode,
} from "@apollo/client";
import { SetContextLink } from "@apollo/client/link/context";
import { filter, firstValueFrom } from "rxjs";
import { expect, onTestFinished, test } from "vitest";
import { SignInDocument } from "../../generated/graphql.ts";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";

const EXPERIMENT = "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI";
const BUILD = "QnVpbGRKb2I6YWRhL21uaXN0LzI";
const PROJECT = "UHJvamVjdDphZGEvbW5pc3Q";

interface Named {
  readonly name: string;
}
const InterfacesDocument: TypedDocumentNode<{
  readonly schema: { readonly types: readonly (Named & { possibleTypes: readonly Named[] | null })[] };
}> = gql(`query Interfaces { schema: __schema { types { name possibleTypes { name } } } }`);

/** The possible types of interfaces and unions, which the cache needs, from the gateway's introspection. */
async function askPossibleTypes(uri: string): Promise<Record<string, string[]>> {
  const asking = new ApolloClient({ link: new HttpLink({ uri }), cache: new InMemoryCache() });
  const { data } = await asking.query({ query: InterfacesDocument });
  const types = data?.schema.types ?? [];
  const abstract = types.flatMap(({ name, possibleTypes }) =>
    possibleTypes ? [[name, possibleTypes.map((type) => type.name)] as const] : [],
  );
  return Object.fromEntries(abstract);
}

/** Starts a gateway, and creates its client. No user is signed in before `signIn`. */
async function startClient() {
  const { url, calls, demo } = await startDemoGateway();
  const uri = `${url}/graphql`;
  let token: string | null = null;
  const signed = new SetContextLink(() =>
    token === null ? {} : { headers: { authorization: `token ${token}` } },
  );
  const possibleTypes = await askPossibleTypes(uri);
  const client = new ApolloClient({
    link: ApolloLink.from([signed, new HttpLink({ uri })]),
    cache: new InMemoryCache({ possibleTypes }),
  });
  onTestFinished(() => client.stop());
  const signIn = (given = tokenOf(demo, "ada")) => {
    token = given;
  };
  return { client, calls, possibleTypes, signIn };
}

async function startSignedIn() {
  const started = await startClient();
  started.signIn();
  return started;
}

/** The error codes of a response, by the fields to which they apply. */
function codesOf(error: unknown): Record<string, unknown> {
  if (!CombinedGraphQLErrors.is(error)) throw new TypeError("expected errors of GraphQL", { cause: error });
  return Object.fromEntries(
    error.errors.map(({ path, extensions }) => [path?.join(".") ?? "the document", extensions?.["code"]]),
  );
}

test("introspection gives the cache the possible types of each interface", async () => {
  const { possibleTypes, calls } = await startClient();
  const sorted = Object.entries(possibleTypes).map(([name, types]) => [name, types.toSorted()]);
  expect(Object.fromEntries(sorted)).toMatchObject({
    Entity: ["BuildJob", "Cluster", "Experiment", "ExperimentJob", "Group", "Job", "Node", "Project", "User"],
    Loggable: ["BuildJob", "Experiment", "ExperimentJob", "Job"],
    MatrixDefinition: ["MatrixLinspace", "MatrixOther", "MatrixValues"],
    Run: ["BuildJob", "Experiment", "Group", "Job"],
    Trackable: ["BuildJob", "Experiment", "ExperimentJob", "Group", "Job"],
  });
  expect(calls()).toEqual([]);
});

test("a record reached by link and by id is one cache entry", async () => {
  const { client, calls } = await startSignedIn();
  await client.query({
    query: gql(`query Link { experiment(id: "ada.mnist.42") { id buildJob { id uniqueName } } }`),
  });
  await client.query({
    query: gql(`query ById($id: ID!) {
      entity(id: $id) { id ... on Trackable { status } ... on Run { project { id name } } }
    }`),
    variables: { id: BUILD },
  });
  expect(client.cache.extract()).toEqual({
    [`Experiment:${EXPERIMENT}`]: {
      __typename: "Experiment",
      id: EXPERIMENT,
      buildJob: { __ref: `BuildJob:${BUILD}` },
    },
    [`BuildJob:${BUILD}`]: {
      __typename: "BuildJob",
      id: BUILD,
      uniqueName: "ada.mnist.builds.2",
      status: "SUCCEEDED",
      project: { __ref: `Project:${PROJECT}` },
    },
    [`Project:${PROJECT}`]: { __typename: "Project", id: PROJECT, name: "mnist" },
    ROOT_QUERY: {
      __typename: "Query",
      'experiment({"id":"ada.mnist.42"})': { __ref: `Experiment:${EXPERIMENT}` },
      [`entity({"id":"${BUILD}"})`]: { __ref: `BuildJob:${BUILD}` },
    },
  });
  expect(calls()).toEqual(["GET ada/mnist/builds/2/", "GET ada/mnist/experiments/42/"]);
});

const WatchedDocument: TypedDocumentNode<{
  readonly experiment: { readonly description: string };
  readonly job: { readonly status: string };
}> = gql(`query Watched {
  experiment(id: "ada.mnist.42") { id description }
  job(id: "ada.mnist.jobs.2") { id status }
}`);

test("a mutation response updates a watched query without another request", async () => {
  const { client, calls } = await startSignedIn();
  const watched = client.watchQuery({ query: WatchedDocument });
  const seen: (readonly string[])[] = [];
  const watching = watched.subscribe(({ data, dataState }) => {
    if (dataState === "complete") seen.push([data.experiment.description, data.job.status]);
  });
  onTestFinished(() => watching.unsubscribe());
  await firstValueFrom(watched.pipe(filter(({ dataState }) => dataState === "complete")));
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/jobs/2/"]);

  await client.mutate({
    mutation: gql(`mutation Describe {
      updateExperiment(id: "ada.mnist.42", input: { description: "The best" }) { experiment { id description } }
    }`),
  });
  await client.mutate({
    mutation: gql(`mutation Stop { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id status } } }`),
  });
  expect(seen).toEqual([
    ["Wider kernels and a calmer learning rate, trained on three machines", "RUNNING"],
    ["The best", "RUNNING"],
    ["The best", "STOPPING"],
  ]);
  // The last three requests are the commands, and the reads of their selections.
  expect(calls()).toEqual([
    "GET ada/mnist/jobs/2/",
    "PATCH ada/mnist/experiments/42/",
    "POST ada/mnist/jobs/2/stop",
  ]);
});

test("`errorPolicy: all` returns partial data and a code for each missing field", async () => {
  const { client, calls } = await startSignedIn();
  const { data, error } = await client.query({
    query: gql(`query Partly {
      there: experiment(id: "ada.mnist.42") { id uniqueName }
      gone: experiment(id: "ada.mnist.999") { id status }
      project(id: "ada.mnist") { id experiments { totalCount } }
    }`),
    errorPolicy: "all",
  });
  expect(data).toEqual({
    there: { __typename: "Experiment", id: EXPERIMENT, uniqueName: "ada.mnist.42" },
    gone: null,
    project: { __typename: "Project", id: PROJECT, experiments: null },
  });
  expect(codesOf(error)).toEqual({ "project.experiments": "CAPABILITY_UNAVAILABLE", gone: "NOT_FOUND" });
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/experiments/999/"]);
});

test("a refused login returns BAD_CREDENTIALS; a successful login returns a token", async () => {
  const { client, calls, signIn } = await startClient();
  const logIn = (password: string) =>
    client.mutate({ mutation: SignInDocument, variables: { input: { username: "ada", password } } });
  const refusal = await logIn("ada-dmeo").catch((problem: unknown) => problem);
  expect(codesOf(refusal)).toEqual({ login: "BAD_CREDENTIALS" });
  expect(calls()).toEqual(["POST users/token/"]);

  const { data } = await logIn("ada-demo");
  expect(data?.login?.user?.username).toBe("ada");
  expect(calls()).toEqual(["GET users/", "POST users/token/"]);

  const askViewer = () =>
    client.query({ query: gql(`query Viewer { viewer { id email } }`), errorPolicy: "all" });
  expect(codesOf((await askViewer()).error)).toEqual({ viewer: "UNAUTHENTICATED" });
  expect(calls()).toEqual([]);

  signIn(data?.login?.token);
  // The cache also contains the previous caller's error.
  await client.clearStore();
  expect((await askViewer()).data).toEqual({
    viewer: { __typename: "User", id: "VXNlcjphZGE", email: "ada@example.com" },
  });
  expect(calls()).toEqual(["GET users/"]);
});

test("Apollo Client receives subscription events through its HTTP link", async () => {
  const { client } = await startSignedIn();
  const events = client.subscribe({
    query: gql(`subscription ($id: ID!) { runUpdated(id: $id) { reason run { id status } } }`),
    variables: { id: EXPERIMENT },
  });
  const { data } = await firstValueFrom(events);
  expect(data).toMatchObject({
    runUpdated: { reason: "APPEARED", run: { id: EXPERIMENT, status: "SUCCEEDED" } },
  });
});
