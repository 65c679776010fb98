import { codesOf } from "./errors.ts";
import { startFake } from "./fake.ts";
import { type Answer, startGateway } from "./gateway.ts";
import { post } from "./raw-requests.ts";

/** Starts a service that accepts every command. Its response is valid for all commands. */
export const startAccepting = () => startFake(() => ({ json: { id: 77, token: "n3w" } }));

/** Sends a mutation that the gateway should reject. Returns its result, and the requests that reached an accepting service. */
export async function refused(mutation: string, variables: object | string = {}) {
  const service = await startAccepting();
  const { url } = await startGateway({ upstream: service });
  const given = typeof variables === "string" ? variables : JSON.stringify(variables);
  // The variables may be a string, because JSON.stringify cannot write every invalid value.
  const body = `{"query": ${JSON.stringify(mutation)}, "variables": ${given}}`;
  const response = await post(`${url}/graphql`, body);
  const { data = null, errors = [] } = (await response.json()) as Partial<Answer<unknown>>;
  return { data, codes: codesOf({ errors }), errors, seen: service.seen() };
}
