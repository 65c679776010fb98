import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { cacheExchange, Client, fetchExchange } from "@urql/core";
import { persistedExchange } from "@urql/exchange-persisted";
import { expect, onTestFinished, test } from "vitest";
import { StartPageDocument } from "../../generated/trusted/graphql.ts";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * Starts a gateway. Returns the headers of a caller, and a `fetch` that records the method of each request, and whether a document was
 * sent.
 */
async function start(env: Record<string, string> = {}) {
  const { url, calls, demo } = await startDemoGateway({ env });
  const sent: string[] = [];
  const watched: typeof fetch = (input, init) => {
    const body = typeof init?.body === "string" ? init.body : "";
    const whole = `${input instanceof Request ? input.url : input}${body}`;
    const hasDocument = /[?&]query=|"query":"/.test(whole);
    sent.push(`${init?.method} ${hasDocument ? "document and hash" : "hash"}`);
    return fetch(input, init);
  };
  const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
  return { uri: `${url}/graphql`, calls, headers, sent, watched };
}

const START_PAGE = { viewer: { username: "ada" }, gateway: { version: expect.any(String) } };

test("Apollo Client sends a document once, then only its hash", async () => {
  const { uri, calls, headers, sent, watched } = await start();
  const client = new ApolloClient({
    link: new PersistedQueryLink({ sha256 }).concat(new HttpLink({ uri, headers, fetch: watched })),
    cache: new InMemoryCache(),
  });
  onTestFinished(() => client.stop());
  for (const _ of ["first", "second"]) {
    const { data } = await client.query({ query: StartPageDocument, fetchPolicy: "network-only" });
    expect(data).toMatchObject(START_PAGE);
  }
  expect(sent).toEqual(["POST hash", "POST document and hash", "POST hash"]);
  expect(calls()).toEqual(["GET users/", "GET users/"]);
});

test("urql's persisted exchange sends a GET with a hash", async () => {
  const { uri, calls, headers, sent, watched } = await start();
  const client = new Client({
    url: uri,
    fetch: watched,
    fetchOptions: { headers },
    exchanges: [
      cacheExchange,
      persistedExchange({ generateHash: async (text) => sha256(text) }),
      fetchExchange,
    ],
  });
  for (const _ of ["first", "second"]) {
    const { data } = await client.query(StartPageDocument, {}, { requestPolicy: "network-only" });
    expect(data).toMatchObject(START_PAGE);
  }
  expect(sent).toEqual(["GET hash", "GET document and hash", "GET hash"]);
  expect(calls()).toEqual(["GET users/", "GET users/"]);
});

/** The hash that graphql-codegen wrote into the document. */
const { hash } = (StartPageDocument as unknown as { __meta__: { hash: string } }).__meta__;
const MANIFEST = fileURLToPath(new URL("../../../schema/persisted-documents.json", import.meta.url));

test("Apollo Client can run only trusted documents, by hash", async () => {
  const { uri, calls, headers, sent, watched } = await start({ TRUSTED_DOCUMENTS: MANIFEST });
  const link = (generateHash: () => string) =>
    new PersistedQueryLink({ generateHash }).concat(new HttpLink({ uri, headers, fetch: watched }));
  const cache = new InMemoryCache();
  const client = new ApolloClient({ link: link(() => hash), cache });
  onTestFinished(() => client.stop());
  expect((await client.query({ query: StartPageDocument })).data).toMatchObject(START_PAGE);
  // The documents of the manifest select `__typename`, so the record has its key in the cache.
  expect(cache.extract()).toHaveProperty("User:VXNlcjphZGE", expect.objectContaining({ username: "ada" }));
  client.setLink(link(() => sha256("another")));
  await expect(client.query({ query: StartPageDocument, fetchPolicy: "network-only" })).rejects.toMatchObject(
    {
      errors: [{ extensions: { code: "PERSISTED_QUERY_NOT_IN_LIST" } }],
    },
  );
  expect(sent).toEqual(["POST hash", "POST hash"]);
  expect(calls()).toEqual(["GET users/"]);
});
