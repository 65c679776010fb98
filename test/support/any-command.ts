import { codesOf } from "./errors.ts";
import { startFake } from "./fake.ts";
import { type Answer, startGateway } from "./gateway.ts";
import { post } from "./raw-requests.ts";

/** A service that takes every command and answers what would do for any of them. */
export const startAccepting = () => startFake(() => ({ json: { id: 77, token: "n3w" } }));

/** What a service that would take everything sees of a mutation that the gateway refuses, and the errors. */
export async function refused(mutation: string, variables: object | string = {}) {
  const service = await startAccepting();
  const { url } = await startGateway({ upstream: service });
  const given = typeof variables === "string" ? variables : JSON.stringify(variables);
  // Written by hand, so that variables can be what JSON.stringify does not write.
  const body = `{"query": ${JSON.stringify(mutation)}, "variables": ${given}}`;
  const response = await post(`${url}/graphql`, body);
  const { data = null, errors = [] } = (await response.json()) as Partial<Answer<unknown>>;
  return { data, codes: codesOf({ errors }), errors, seen: service.seen() };
}
