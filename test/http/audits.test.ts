import { auditServer } from "graphql-http";
import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { DEFAULTS } from "../support/story-settings.ts";

test("all 61 audits of GraphQL over HTTP are ok, at the settings it comes with", async () => {
  const { url } = await startDemoGateway({ env: DEFAULTS });
  const results = await auditServer({ url: `${url}/graphql`, fetchFn: fetch });
  const notOk = results.flatMap((result) =>
    result.status === "ok" ? [] : [`${result.id} ${result.name}: ${result.status}, ${result.reason}`],
  );
  expect(notOk).toEqual([]);
  expect(results).toHaveLength(61);
});
