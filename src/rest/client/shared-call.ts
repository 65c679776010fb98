import type { RequestScope } from "../../request-scope.ts";
import type { Outcome } from "./attempt.ts";
import type { Operation } from "./call.ts";
import type { OperationBounds } from "./operation-queue.ts";
import type { Replicas, SharedRead, SharedTurn } from "./replicas.ts";
import type { UpstreamRequest } from "./request.ts";
import { type JsonSettings, readResponse } from "./response.ts";
import type { WholeResponse } from "./transport.ts";

/** The read that replicas may answer; null when this one has to ask the service itself. */
export function sharedReadOf(
  { endpoint, path, token, isFresh = false }: UpstreamRequest<unknown>,
  scope: RequestScope,
  { pollMaxAgeMs }: OperationBounds,
  { operationMaxAgeMs }: Replicas,
): SharedRead | null {
  const maxAgeMs = pollMaxAgeMs ?? (isFresh ? null : operationMaxAgeMs);
  const isOwn = token === undefined || token === scope.token;
  if (maxAgeMs === null || scope.token === null || !isOwn) return null;
  if (endpoint.method !== "GET" || endpoint.answer.form !== "json") return null;
  return { kind: pollMaxAgeMs === null ? "operation" : "poll", token: scope.token, path, maxAgeMs };
}

/** Sends a request; the body of its response is passed to `onBody`. */
type SendOwn<Answer> = (outcome: Outcome<Answer>, onBody: (response: WholeResponse) => void) => void;

/** Takes the response that another process has got, or sends the request and tells the others what came of it. */
export async function callShared<Answer>(
  replicas: Replicas,
  read: SharedRead,
  {
    request,
    operation,
    reading,
  }: {
    readonly request: UpstreamRequest<Answer>;
    readonly operation: Operation;
    readonly reading: JsonSettings;
  },
  outcome: Outcome<Answer>,
  sendOwn: SendOwn<Answer>,
): Promise<void> {
  const { scope, held } = operation;
  const found = await replicas.ask(scope, read);
  if (!found) sendOwn(outcome, () => {});
  else if (!Buffer.isBuffer(found)) askFor(found, outcome, sendOwn);
  else {
    let bytes = 0;
    const response = { status: 200, contentType: "application/json", retryAfter: null, body: found };
    const take = {
      hold: (count: number) => {
        bytes += count;
        held.add(count);
      },
      succeed: (answer: Answer) => {
        // Whoever has received it for others has the token, and the service accepts it.
        scope.caller.prove();
        outcome.succeeded(answer, bytes);
      },
      // Its own response tells what is wrong.
      fail: () => sendOwn(outcome, () => {}),
    };
    reading.takeTurn(() => readResponse(request, response, reading, take));
  }
}

/** Sends a request for which others wait. */
function askFor<Answer>(turn: SharedTurn, outcome: Outcome<Answer>, sendOwn: SendOwn<Answer>): void {
  let body: Buffer | null = null;
  const told = {
    succeeded: (answer: Answer, bytes: number) => {
      if (body) turn.offer(body);
      else turn.release();
      outcome.succeeded(answer, bytes);
    },
    failed: (error: unknown) => {
      turn.release();
      outcome.failed(error);
    },
  };
  sendOwn(told, (response) => {
    body = response.status === 200 ? response.body : null;
  });
}
