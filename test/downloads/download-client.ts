import { type Answering, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

export const RUN = globalId("Experiment:ada/mnist/42");

/** Headers that belong to the connection and differ between responses. */
const OF_THE_CONNECTION = new Set(["connection", "date", "keep-alive", "transfer-encoding"]);

/**
 * Starts a gateway in front of a service. Returns a function by which a signed-in caller downloads files, by default the outputs of a run.
 */
export async function startDownloads(
  answer: Answering = () => undefined,
  env: Record<string, string> = { UPSTREAM_PROFILE: "polyaxon-0.4" },
) {
  const service = await startFake(answer);
  const gateway = await startGateway({ upstream: service, env });
  const take = async (given: Record<string, string> = {}, path = `${RUN}/outputs`, method = "GET") => {
    const headers = { authorization: "token t0ken", "x-request-id": "request-1", ...given };
    const response = await fetch(`${gateway.url}/downloads/${path}`, { method, headers });
    const reported = [...response.headers].filter(([name]) => !OF_THE_CONNECTION.has(name));
    const body = await response.text();
    return { status: response.status, headers: Object.fromEntries(reported), body };
  };
  return { ...gateway, service, take };
}

/** The errors of an error response. */
export const errorsIn = (body: string) =>
  (JSON.parse(body) as { errors: { message: string; extensions: Record<string, unknown> }[] }).errors;
