import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { Defer20220824Handler, GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { Client, fetchExchange, gql } from "@urql/core";
import { expect, onTestFinished, test } from "vitest";
import { type Row, startTable as start, type Table, tableOf } from "./table.ts";

const TABLE = gql(tableOf("@defer", ""));

const rowsOf = (data: unknown): readonly Row[] => (data as Table).project.experiments.nodes;

/** The contents of a table at first, after the first round of responses, and at the end. */
const shownOf = (shown: readonly unknown[]) => ({
  first: rowsOf(shown[0]).map(({ status }) => status),
  builtAtFirst: rowsOf(shown[0]).filter(({ buildJob }) => buildJob).length,
  last: shown.at(-1),
});
const expectedOf = (whole: unknown) => ({
  first: rowsOf(whole).map(({ status }) => status),
  builtAtFirst: 0,
  last: whole,
});

test.each([
  ["the format of graphql-js 17", () => new GraphQL17Alpha9Handler()],
  ["the format of August 2022", () => new Defer20220824Handler()],
] as const)(
  "Apollo Client's handler shows a table after one round of requests: %s",
  async (_, createHandler) => {
    const { uri, headers, open, whole } = await start();
    const client = new ApolloClient({
      link: ApolloLink.from([new HttpLink({ uri, headers })]),
      cache: new InMemoryCache(),
      // Safe: the types of Apollo Client differ only with `exactOptionalPropertyTypes`.
      incrementalHandler: createHandler() as NonNullable<ApolloClient.Options["incrementalHandler"]>,
    });
    onTestFinished(() => client.stop());
    const shown = await new Promise<unknown[]>((resolve, reject) => {
      const all: unknown[] = [];
      const subscription = client.watchQuery({ query: TABLE, fetchPolicy: "no-cache" }).subscribe({
        next: ({ data, error, loading, dataState }) => {
          if (error) reject(error);
          if (dataState === "empty") return;
          all.push(structuredClone(data));
          open();
          if (!loading && dataState === "complete") resolve(all);
        },
        error: reject,
      });
      onTestFinished(() => subscription.unsubscribe());
    });
    expect(shownOf(shown)).toMatchObject(expectedOf(await whole()));
  },
);

test("urql shows a table after one round of requests", async () => {
  const { uri, headers, open, whole } = await start();
  const client = new Client({
    url: uri,
    exchanges: [fetchExchange],
    fetchOptions: { headers },
    preferGetMethod: "within-url-limit",
  });
  const shown = await new Promise<unknown[]>((resolve, reject) => {
    const all: unknown[] = [];
    const { unsubscribe } = client.query(TABLE, {}).subscribe(({ data, error, hasNext }) => {
      if (error) reject(error);
      all.push(structuredClone(data));
      open();
      if (!hasNext) resolve(all);
    });
    onTestFinished(unsubscribe);
  });
  expect(shownOf(shown)).toMatchObject(expectedOf(await whole()));
});

// In payloads of graphql-js 17, urql puts all items at the beginning of the list.
test("urql shows streamed list items as they arrive, in the 2022 format", async () => {
  const { uri, headers, open, whole } = await start();
  open();
  const older = { ...headers, accept: "multipart/mixed;deferSpec=20220824, application/json" };
  const client = new Client({
    url: uri,
    exchanges: [fetchExchange],
    fetchOptions: { headers: older },
    preferGetMethod: false,
  });
  const query = tableOf("", "").replace("nodes {", "nodes @stream(initialCount: 2) {");
  const lengths: number[] = [];
  const last = await new Promise<unknown>((resolve, reject) => {
    const { unsubscribe } = client.query(gql(query), {}).subscribe(({ data, error, hasNext }) => {
      if (error) reject(error);
      lengths.push(rowsOf(data).length);
      if (!hasNext) resolve(data);
    });
    onTestFinished(unsubscribe);
  });
  expect(lengths[0]).toBe(2);
  expect(last).toMatchObject(await whole());
});
