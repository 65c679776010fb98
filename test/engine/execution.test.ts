import { GraphQLError, type OperationDefinitionNode, parse } from "graphql";
import { expect, test } from "vitest";
import { Callers } from "../../src/caller.ts";
import { execute } from "../../src/engine/execution.ts";
import { Meter } from "../../src/engine/meter.ts";
import type { Plan } from "../../src/engine/plan/plan.ts";
import { atEndOfTurn, nextTurn, Turns } from "../../src/engine/turns.ts";

test("what is left of a stopped operation is not serialized", async () => {
  const limits = { fields: 10, bytes: 1_000_000, errors: 10 };
  const callers = new Callers();
  const meter = new Meter({
    queue: new Turns(callers).queueOf(callers.of("ada", "")),
    limits,
    tooLarge: (message) => new GraphQLError(message),
    hold: () => {},
  });
  let isRead = false;
  const data = {
    get large() {
      isRead = true;
      return "";
    },
  };
  const plan: Plan = {
    operation: parse("{ large }").definitions[0] as OperationDefinitionNode,
    fragments: new Map(),
    run: (_variables, _context, _meter, _event, onResult) => {
      meter.count(1, 2_000_000);
      onResult({ data });
    },
  };
  const context = { place: null, at: null };
  expect(
    await execute(plan, {}, context, meter, undefined, { onError: "PROPAGATE", isIncremental: false }),
  ).toEqual({
    errors: [new GraphQLError("Expected a result of at most 1000000 bytes, got more.")],
  });
  expect(isRead).toBe(false);
});

test("work that throws at the end of a turn does not keep the rest from being done", async () => {
  const done: string[] = [];
  const thrown = new Promise((resolve) => {
    process.once("uncaughtException", resolve);
  });
  const fault = new Error("of the second one");
  atEndOfTurn(() => done.push("first"));
  atEndOfTurn(() => {
    throw fault;
  });
  atEndOfTurn(() => done.push("third"));
  expect(await thrown).toBe(fault);
  await nextTurn();
  expect(done).toEqual(["first", "third"]);
});
