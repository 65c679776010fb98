import "../../../src/http/graphiql/page/incremental.js";
import { Defer20220824Handler, GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import {
  createRequest,
  type gql,
  makeOperation,
  makeResult,
  mergeResultPatch,
  type OperationResult,
} from "@urql/core";
import fc from "fast-check";
import { parse, print } from "graphql";
import { expect, test } from "vitest";
import { cases } from "../../support/cases.ts";
import { startDemoService, still, tokenOf } from "../../support/demo-gateway.ts";
import { startGateway } from "../../support/gateway.ts";
import { askIncrementally, type PayloadJson } from "../../support/incremental.ts";
import { deferral, UNSTEADY } from "../../support/random-deferral.ts";
import { EXISTING_ROOTS, operation, VARIABLES } from "../../support/random-operations.ts";

/** Merges the payloads of a document as a client does. */
type Client = (document: string, payloads: readonly PayloadJson[]) => unknown;

/** A handler of Apollo Client, with the methods that are used here. */
interface Handler {
  readonly startRequest: (request: { query: ReturnType<typeof gql> }) => {
    readonly handle: (cacheData: undefined, payload: PayloadJson) => { readonly data?: unknown };
  };
}

const apollo =
  (handler: unknown): Client =>
  (document, payloads) => {
    // Safe: both handlers have it; their types are for results without `exactOptionalPropertyTypes`.
    const request = (handler as Handler).startRequest({ query: parse(document) });
    let data: unknown;
    for (const payload of payloads) ({ data } = request.handle(undefined, payload));
    return data;
  };

const urql: Client = (document, [first, ...others]) => {
  const context = { url: "", requestPolicy: "network-only", preferGetMethod: false } as const;
  // Safe: the type of the variables is not that of any operation.
  const operationOf = makeOperation("query", createRequest(document, VARIABLES) as never, context);
  // Safe: urql reads these payloads as results.
  let result: OperationResult = makeResult(operationOf, first as never);
  const pending = [...(first?.pending ?? [])];
  for (const payload of others) {
    pending.push(...(payload.pending ?? []));
    result = mergeResultPatch(result, payload as never, undefined, pending as never);
  }
  return result.data;
};

/** Merges the payloads as the GraphiQL page does. The imported script of the page sets the global function that is called here. */
const page = async (payloads: readonly PayloadJson[]): Promise<unknown> => {
  let data: unknown;
  const { answersOf } = globalThis as unknown as {
    answersOf: (payloads: AsyncIterable<PayloadJson>) => AsyncIterable<PayloadJson>;
  };
  const all = async function* () {
    yield* payloads;
  };
  for await (const answer of answersOf(all())) ({ data } = answer);
  return data;
};

/** Whether a streamed list is within another. Apollo Client gives each deferred fragment a label. */
function hasNestedStreams(payloads: readonly PayloadJson[]): boolean {
  const pending = payloads.flatMap((payload) => payload.pending ?? []);
  const lists = pending.filter(({ label }) => label === undefined).map(({ path }) => `${path.join()},`);
  return lists.some((outer) => lists.some((inner) => inner !== outer && inner.startsWith(outer)));
}

const at = (data: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((object, key) => Object(object ?? {})[key], data);

/** Whether a list has the same name as a later field elsewhere. Apollo Client 4.3 then treats that field as a streamed list. */
function hasNamesakes(payloads: readonly PayloadJson[]): boolean {
  const pending = payloads.flatMap((payload) => payload.pending ?? []);
  const parts = payloads.flatMap((payload) => payload.incremental ?? []);
  return parts.some(({ id, data }) => {
    const own = pending.find((each) => each.id === id)?.path ?? [];
    const others = pending.filter(({ path }) => own.some((key, index) => path[index] !== key));
    return others.some(
      ({ path }) => path.length > own.length && Array.isArray(at(data, path.slice(own.length))),
    );
  });
}

const NEWER = "multipart/mixed;incrementalSpec=v0.2, application/json";
const OLDER = "multipart/mixed;deferSpec=20220824, application/json";

test("Apollo Client, urql and GraphiQL merge random payloads into the whole result", async () => {
  const operations = operation({ roots: EXISTING_ROOTS, leftOut: UNSTEADY, depth: 4 });
  const demo = await startDemoService({ now: still });
  const token = tokenOf(demo, "ada");
  const env = { MAX_DEPTH: "30", UPSTREAM_PROFILE: "polyaxon-0.2" };
  const { url } = await startGateway({ upstream: demo, token, env });
  const ask = (query: string, accept: string) =>
    askIncrementally(url, { query, variables: VARIABLES }, { authorization: `token ${token}`, accept });
  await fc.assert(
    fc.asyncProperty(operations, deferral(), async (document, defer) => {
      const [whole = {}] = await ask(document, "application/json");
      // Clients differ in how they treat errors.
      fc.pre(whole.errors === undefined);
      const handler = new GraphQL17Alpha9Handler();
      const query = print(handler.documentTransform.transformDocument(parse(defer(document))));
      const newer = await ask(query, NEWER);
      const older = await ask(query, OLDER);
      const copies = () => structuredClone(newer);
      expect(await page(copies()), "page").toEqual(whole.data);
      // Apollo Client cannot place the items of a list that arrived as a part of a streamed item, or of an object that arrived later.
      const isRead =
        !hasNestedStreams(newer) &&
        !hasNamesakes(newer) &&
        !(query.includes("@stream") && query.includes("@defer"));
      expect(isRead ? apollo(handler)(query, copies()) : whole.data, "Apollo Client").toEqual(whole.data);
      expect(apollo(new Defer20220824Handler())(query, structuredClone(older)), "Apollo Client 2022").toEqual(
        whole.data,
      );
      expect(urql(query, structuredClone(older)), "urql 2022").toEqual(whole.data);
      // In this format, urql merges streamed items into the first items of their list, so its result for `@stream` is not checked.
      const merged = query.includes("@stream") ? whole.data : urql(query, copies());
      expect(merged, "urql").toEqual(whole.data);
    }),
    { numRuns: cases(15, 100) },
  );
});
