import { sortedErrorsOf } from "./errors.ts";
import { startRecords } from "./fake.ts";
import { type Answer, startGateway } from "./gateway.ts";
import { type Line, lineOf, readRecording, startReplay } from "./replay.ts";

export const recordedReads = readRecording("0.2.0-reads");

export const recordedWrites = readRecording("0.2.0-writes");

/** The tokens of release 0.2.0. */
export const tokensOf020 = {
  root: "a".repeat(40),
  alice: "b".repeat(40),
  bob: "c".repeat(40),
  carol: "d".repeat(40),
};

/** The gateway in front of a recorded server, signed in as alice. */
export async function startRecorded(lines: readonly Line[] = recordedReads, as = tokensOf020.alice) {
  const upstream = await startReplay(lines);
  return { ...(await startGateway({ upstream, token: as })), calls: upstream.calls };
}

/** The gateway in front of records that no recording holds. */
export async function startMade(records: Record<string, unknown>) {
  const upstream = await startRecords(records);
  return { ...(await startGateway({ upstream })), calls: upstream.calls };
}

/** The record that was recorded under this name. All of them are objects. */
export const recordedAs = (lines: readonly Line[], name: string) =>
  lineOf(lines, name).json as Record<string, unknown>;

/** A whole answer, its errors in the order of their places. The request id differs each time: no part of it. */
export const sortedOutcomeOf = (answer: Answer<unknown>) => ({
  data: answer.data,
  errors: sortedErrorsOf(answer),
});

export const refusedRead = (at: string, code: string, message: string, route: string, status: number) => ({
  at,
  code,
  message,
  upstream: { method: "GET", route, status },
});

/** What a field tells of a record or list that the caller may not read, or that is not there. */
export const forbiddenRead = (at: string, route: string) =>
  refusedRead(at, "FORBIDDEN", "You do not have permission to perform this action.", route, 403);

/** `name` is what the address says, as the message tells it. */
export const missingRead = (at: string, route: string, name: string) =>
  refusedRead(at, "NOT_FOUND", `Not found: ${name}.`, route, 404);

export const EXPERIMENT_ROUTE = "{owner}/{project}/experiments/{id}/";

export const JOB_ROUTE = "{owner}/{project}/jobs/{id}/";

export const BUILD_ROUTE = "{owner}/{project}/builds/{id}/";

export const GROUP_ROUTE = "{owner}/{project}/groups/{id}/";
