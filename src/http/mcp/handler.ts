import { type ExecutionResult, lexicographicSortSchema } from "graphql";
import type { Operation } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import { printPlain, withoutFederation } from "../../graphql/federation/subgraph.ts";
import { parseObject, PRIVATE } from "../graphql/encoding.ts";
import { version } from "../../installation.ts";
import { openOperation, type Parts } from "../operation.ts";
import type { Execute } from "../router.ts";
import { readTools, toolOfOwnDocuments } from "./documents.ts";
import { reject } from "../rejection.ts";
import { answerMessage, instructionsFor, openServer } from "./server.ts";
import { type RunOperation, toolOfSchema, type ToolType, toToolResult } from "./tools.ts";

/** The types of operations that agents may run. */
const TYPES: Readonly<Record<Parts["config"]["MCP"], readonly ToolType[]>> = {
  off: [],
  read: ["query"],
  write: ["query", "mutation"],
};

const NO_BODY = Buffer.alloc(0);

/** Longest GraphQL result of a tool: its agent reads all of it, about 25,000 tokens. */
const MAX_RESULT_BYTES = 100_000;

/** Creates the handler of `/mcp`. No sessions: any replica answers any message. */
export async function createMcpHandler(parts: Parts): Promise<Execute> {
  const { schema, engine, config } = parts;
  const types = TYPES[config.MCP];
  const shown = config.INTROSPECTION ? lexicographicSortSchema(withoutFederation(schema)) : null;
  const isOpen = !config.TRUSTED_DOCUMENTS;
  const all = [
    ...(await readTools(parts, types)),
    ...(isOpen ? types.map((type) => toolOfOwnDocuments(type, shown !== null, config.MAX_TOKENS)) : []),
    ...(shown && isOpen ? [toolOfSchema(shown)] : []),
  ];
  // Of several with one name the last counts.
  const tools = new Map(all.map((tool) => [tool.definition.name, tool]));
  const sdl = shown && printPlain(schema).trimEnd();
  const served = { version, tools, instructions: instructionsFor(tools), sdl };

  const resultOf = async (
    operation: Operation,
    ...[params, type]: Parameters<RunOperation>
  ): Promise<ExecutionResult> => {
    const given = await engine.typeOf(params, operation.scope);
    const limits = { isReadOnly: type === "query", maxBytes: MAX_RESULT_BYTES };
    if (given === null || given === type) return engine.run(operation, params, limits);
    operation.facts.type = given;
    operation.facts.codes = ["BAD_REQUEST"];
    return { errors: [rejection(`Expected a ${type}, got a ${given}.`, "BAD_REQUEST")] };
  };

  return async (response, body, state) => {
    const { requestId, caller } = state.scope;
    const { req: request } = response;
    const execute: RunOperation = async (...given) => {
      const { operation, run, end } = openOperation(parts, request, state);
      const result = await run(() => resultOf(operation, ...given));
      end(200);
      return toToolResult(engine.finish(result, requestId, operation.extensions));
    };
    let answer: Response;
    try {
      const message = parseObject(body ?? NO_BODY);
      parts.heldBytes.holdJson(state.scope, message);
      answer = await answerMessage(message, request.headers, () => openServer(served, execute));
    } catch (error) {
      return reject(response, "mcp", parts.publicError(error), requestId);
    } finally {
      // Most messages run no operation, which would have ended the scope.
      state.scope.end("done");
    }
    const headers = {
      ...Object.fromEntries(answer.headers),
      "x-request-id": requestId,
      "cache-control": PRIVATE,
    };
    await parts.delivery.send(
      response,
      { status: answer.status, headers, body: await answer.text() },
      caller,
    );
  };
}
