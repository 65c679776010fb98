import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from "graphql";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { sendTo } from "../support/raw-requests.ts";
import GUESSES from "./guesses.json" with { type: "json" };

describe("the schema through introspection", () => {
  test("can be asked for, however shallow operations must be", async () => {
    const { ask } = await startDemoGateway({ env: { MAX_DEPTH: "1" } });
    const { data, errors } = await ask<IntrospectionQuery, object>(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    expect(buildClientSchema(data).getType("Experiment")).toBeDefined();
  });

  test("is refused when an operation selects fields of types of fields, again and again", async () => {
    const { ask } = await startDemoGateway();
    const round = (rest: string) => `fields { type { ${rest} } }`;
    const { data, errors } = await ask<unknown, object>(
      `{ __schema { types { ${round(round(round(round("name"))))} } } }`,
    );
    expect(data).toBeUndefined();
    expect(errors?.[0]?.extensions["code"]).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test.each(GUESSES)("that is hidden is not told by a guess: $query", async ({ query, variables }) => {
    const { ask, calls } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
    const { errors = [] } = await ask<unknown, object>(query, variables);
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toMatch(/did you mean/i);
    expect(calls()).toEqual([]);
  });

  test("that is hidden is not told by a guess in an export", async () => {
    const { url } = await startDemoGateway({ env: { INTROSPECTION: "off" } });
    const { text } = await sendTo(`${url}/export/ada.mnist/runs.csv?filter={"statuse":[]}`, {
      method: "GET",
    });
    expect(JSON.parse(text)).toMatchObject({
      errors: [{ message: 'filter: Field "statuse" is not defined by type "RunFilter".' }],
    });
  });

  test.each([getIntrospectionQuery(), "{ __schema { types { name } } }", `{ __type(name: "Job") { name } }`])(
    "that is hidden is not shown",
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
  ])("has its GraphiQL page when GRAPHIQL is %s", async (GRAPHIQL, isThere) => {
    const { url } = await startDemoGateway({ env: { GRAPHIQL } });
    const { text } = await sendTo(`${url}/graphql`, { method: "GET", headers: { accept: "text/html" } });
    expect(text.includes("<html")).toBe(isThere);
  });
});
