import { startGateway } from "../support/gateway.ts";
import { type Line, lineOf, readRecording, startReplay } from "../support/replay.ts";

export const recordedReads = readRecording("0.2.0-reads");

/** The token of a user of release 0.2.0. */
export const ALICE = "b".repeat(40);

/** Starts the gateway in front of a recorded server, signed in as alice. */
export async function startRecorded(lines: readonly Line[] = recordedReads) {
  const upstream = await startReplay(lines);
  return { ...(await startGateway({ upstream, token: ALICE })), calls: upstream.calls };
}

/** The record that was recorded under this name. All of them are objects. */
export const recordedAs = (name: string) => lineOf(recordedReads, name).json as Record<string, unknown>;
