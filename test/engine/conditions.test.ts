import { expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf } from "../support/errors.ts";

test("a null condition of @include fails only its own request", async () => {
  const { ask } = await startDemoGateway();
  const document = `query Q($isWanted: Boolean = true) {
    experiment(id: "ada.mnist.42") { uniqueName rawStatus @include(if: $isWanted) }
  }`;
  expect(codesOf(await ask(document, { isWanted: null }))).toEqual(["BAD_USER_INPUT"]);
  const experiment = { uniqueName: "ada.mnist.42" };
  expect(await ask(document, { isWanted: false })).toEqual({ data: { experiment } });
  expect(codesOf(await ask(document, { isWanted: null }))).toEqual(["BAD_USER_INPUT"]);
});

test("a null condition of @skip at the root is an execution error", async () => {
  const { ask } = await startDemoGateway();
  const answer = await ask(
    "query Q($isLeftOut: Boolean = true) { viewer { username } gateway @skip(if: $isLeftOut) { version } }",
    { isLeftOut: null },
  );
  expect(answer.data).toBeNull();
  expect(codesOf(answer)).toEqual(["BAD_USER_INPUT"]);
});
