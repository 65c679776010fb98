import { callOf, type Command, commandCalled, routeOf, silentCommands } from "./commands.ts";
import { failure, outcomeOf } from "./errors.ts";
import { startGateway } from "./gateway.ts";

/** A command of each method, with and without a body, with and without a documented answer, and login. */
export const oneOfEach = [
  "stopExperiment",
  "bookmarkJob",
  "deleteGroup",
  "unbookmarkBuildJob",
  "updateJob",
  "createExperimentMetric",
  "copyExperiment",
  "revokeSuperuser",
  "login",
].map(commandCalled);

/** Those of them whose answer is read. */
export const answering = oneOfEach.filter((command) => !silentCommands.includes(command));

export const UNKNOWN_OUTCOME = { outcome: "unknown" };

export const RETRYING = { UPSTREAM_RETRIES: "2" };

/** So many failures that no gateway takes the service for dead. */
const FEW = 12;

/** Sends each command in a request of its own, all at once; gives the answers in the order of the commands. */
export async function sendEach(url: string, these: readonly Command[], env: Record<string, string> = {}) {
  const starting = Array.from({ length: Math.ceil(these.length / FEW) }, () =>
    startGateway({ upstream: { url }, env: { ...RETRYING, ...env } }),
  );
  const gateways = await Promise.all(starting);
  return Promise.all(
    these.map(async ({ mutation }, index) => {
      const { ask } = gateways[Math.floor(index / FEW)] ?? {};
      return ask && outcomeOf(await ask(`mutation { done: ${mutation} { __typename } }`));
    }),
  );
}

/** What `sendEach` gives when each command fails alike. */
export const allFail = (
  these: readonly Command[],
  code: string,
  message: string,
  { status, ...facts }: { status?: number; outcome?: string; retryAfterSeconds?: number } = {},
) =>
  these.map((command) => ({
    data: { done: null },
    errors: [
      failure("done", code, message, {
        upstream: {
          method: command.method,
          route: routeOf(command),
          ...(status === undefined ? {} : { status }),
        },
        ...facts,
      }),
    ],
  }));

export const sortedCalls = (these: readonly Command[]) => these.map((command) => callOf(command)).toSorted();

export const OUT_OF_REACH = "The service is out of reach.";

export const NOT_IN_TIME = "The service did not answer in time.";
