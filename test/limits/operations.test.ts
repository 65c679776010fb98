import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";

const LIMITS = { MAX_DEPTH: "15", MAX_TOKENS: "4000", MAX_ROOT_FIELDS: "10" };

describe("operation limits", () => {
  const many = (count: number, field: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => field(index)).join(" ");
  /** A query of an experiment with `levels` levels in all. */
  const deep = (levels: number) =>
    `{ experiment(id: "ada.mnist.42") { ${"original { ".repeat(levels - 2)} id ${"} ".repeat(levels - 2)} } }`;
  const login = (alias: string) =>
    `${alias}: login(input: { username: "ada", password: "canary-${alias}" }) { token }`;
  const stop = (index: number) =>
    `m${index}: stopJob(id: "ada.mnist.jobs.2", force: true) { job { internalId } }`;

  test.each<[string, string, string]>([
    ["too deep", deep(17), "OPERATION_TOO_DEEP"],
    [
      "too deep through fragments",
      `{ experiment(id: "ada.mnist.42") { ...A } } fragment A on Experiment { ${"original { ".repeat(14)} ...B ${"} ".repeat(14)} } fragment B on Experiment { original { id } }`,
      "OPERATION_TOO_DEEP",
    ],
    ["of too many tokens", `{ viewer { ${many(4_000, () => "id")} } }`, "OPERATION_TOO_LARGE"],
    ["of 11 commands", `mutation { ${many(11, stop)} }`, "OPERATION_TOO_LARGE"],
    [
      "of 11 commands through fragments",
      `mutation { ...A ... { ${many(5, stop)} } } fragment A on Mutation { ${many(6, (index) => stop(index + 5))} }`,
      "OPERATION_TOO_LARGE",
    ],
    ["of two logins", `mutation { ${login("a")} ${login("b")} }`, "OPERATION_TOO_LARGE"],
    [
      "of two logins through fragments",
      `mutation { ...A ...B } fragment A on Mutation { ${login("a")} } fragment B on Mutation { ... { ${login("b")} } }`,
      "OPERATION_TOO_LARGE",
    ],
    [
      "whose fragment contains itself",
      "{ ...A } fragment A on Query { viewer { id } ...A }",
      "GRAPHQL_VALIDATION_FAILED",
    ],
  ])("refuse an operation %s before anything is sent", async (_, query, code) => {
    const { ask, calls } = await startDemoGateway({ env: LIMITS });
    const { data, errors = [] } = await ask<unknown, object>(query);
    expect(data).toBeUndefined();
    expect(errors.map(({ extensions }) => extensions["code"])).toContain(code);
    expect(JSON.stringify(errors)).not.toContain("canary");
    expect(calls()).toEqual([]);
  });

  test.each<[string, string]>([
    ["15 levels", deep(15)],
    ["with hundreds of root aliases", `{ ${many(400, (index) => `v${index}: viewer { id }`)} }`],
    ["10 commands", `mutation { ${many(10, stop)} }`],
    ["one login", `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`],
  ])("allow an operation of this size: %s", async (_, query) => {
    const { ask } = await startDemoGateway({ env: LIMITS });
    const { errors = [] } = await ask<unknown, object>(query);
    expect(errors.filter(({ extensions }) => String(extensions["code"]).startsWith("OPERATION_"))).toEqual(
      [],
    );
  });
});
