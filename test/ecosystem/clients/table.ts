import { startDemoService, still, tokenOf } from "../../support/demo-gateway.ts";
import { latch } from "../../support/latch.ts";
import { startGateway } from "../../support/gateway.ts";
import { listen } from "../../support/listen.ts";

/** A table of runs, which shows their builds and jobs when they arrive. */
export const tableOf = (later: string, jobs: string) => `query Table {
  project(id: "ada.mnist") {
    id
    experiments(first: 50) {
      nodes {
        id
        status
        ... on Experiment ${later} { buildJob { id commit } jobs ${jobs} { nodes { id status } } }
      }
    }
  }
}`;

export interface Row {
  readonly status: string;
  readonly buildJob?: { readonly commit: string | null } | null;
}
export interface Table {
  readonly project: { readonly experiments: { readonly nodes: readonly Row[] } };
}

/** Starts a gateway in front of a service that responds to the first round of requests, and to the others when `open` is called. */
export async function startTable(settings: Record<string, string> = {}) {
  const demo = await startDemoService({ now: still });
  const { opened, open } = latch();
  const url = await listen(async (request, response) => {
    if (!request.url?.includes("experiments?")) await opened;
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${demo.url}${request.url}`, { headers: { authorization } });
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  const token = tokenOf(demo, "ada");
  const env = { UPSTREAM_PROFILE: "polyaxon-0.2", ...settings };
  const gateway = await startGateway({ upstream: { url }, token, env });
  const whole = async () =>
    (await (await startGateway({ upstream: demo, token, env })).ask<Table, object>(tableOf("", ""))).data;
  return { uri: `${gateway.url}/graphql`, headers: { authorization: `token ${token}` }, open, whole };
}
