import { expect, test } from "vitest";
import { z } from "zod";
import { WrittenProfile } from "../../src/rest/api/profile.ts";

test("the committed JSON Schema of profiles is up to date", async () => {
  const schema = z.toJSONSchema(WrittenProfile, { io: "input" });
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
    "../../schema/profile.schema.json",
  );
});
