import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from "graphql";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { sendTo } from "../support/raw-requests.ts";
import GUESSES from "./guesses.json" with { type: "json" };

describe("schema introspection", () => {
  test("works with any MAX_DEPTH", async () => {
    const { ask } = await startDemoGateway({ env: { MAX_DEPTH: "1" } });
    const { data, errors } = await ask<IntrospectionQuery, object>(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    expect(buildClientSchema(data).getType("Experiment")).toBeDefined();
  });

  test("is refused if fields and types are nested repeatedly", async () => {
    const { ask } = await startDemoGateway();
    const round = (rest: string) => `fields { type { ${rest} } }`;
    const { data, errors } = await ask<unknown, object>(
      `{ __schema { types { ${round(round(round(round("name"))))} } } }`,
    );
    expect(data).toBeUndefined();
    expect(errors?.[0]?.extensions["code"]).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test.each(GUESSES)(
    "when off, also removes suggestions from errors: $query",
    async ({ query, variables }) => {
      const { ask, calls } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
      const { errors = [] } = await ask<unknown, object>(query, variables);
      expect(errors.length).toBeGreaterThan(0);
      expect(JSON.stringify(errors)).not.toMatch(/did you mean/i);
      expect(calls()).toEqual([]);
    },
  );

  test("when off, also removes suggestions from errors of an export", async () => {
    const { url } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
    const { text } = await sendTo(`${url}/export/ada.mnist/runs.csv?filter={"statuse":[]}`, {
      method: "GET",
    });
    expect(JSON.parse(text)).toMatchObject({
      errors: [{ message: 'filter: Field "statuse" is not defined by type "RunFilter".' }],
    });
  });

  test.each([getIntrospectionQuery(), "{ __schema { types { name } } }", `{ __type(name: "Job") { name } }`])(
    "returns no schema when off",
    async (query) => {
      const { ask } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
      const { data, errors } = await ask<unknown, object>(query);
      expect(data).toBeUndefined();
      expect(errors?.[0]?.extensions["code"]).toBe("GRAPHQL_VALIDATION_FAILED");
      expect(await ask("{ __typename }")).toEqual({ data: { __typename: "Query" } });
    },
  );

  test.each([
    ["on", true],
    ["off", false],
  ])("is independent of GraphiQL, which GRAPHIQL=%s controls", async (GRAPHIQL, isThere) => {
    const { url } = await startDemoGateway({ env: { GRAPHIQL } });
    const { text } = await sendTo(`${url}/graphql`, { method: "GET", headers: { accept: "text/html" } });
    expect(text.includes("<html")).toBe(isThere);
  });
});
