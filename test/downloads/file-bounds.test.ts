import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";

const PATH = `/downloads/${globalId("Experiment:ada/mnist/42")}/files?path=model.bin`;
const ENV = { UPSTREAM_PROFILE: "polyaxon-0.4" };

/** Asks for the file, and tells the status and the code of what refuses it. */
async function taken(url: string, method = "GET", token = "t0ken") {
  const response = await fetch(url + PATH, { method, headers: { authorization: `token ${token}` } });
  const text = await response.text();
  const code = response.ok || text === "" ? null : JSON.parse(text).errors[0].extensions.code;
  return [response.status, code];
}

/** A gateway before a service that sends the beginning of a file, and the end once the gate is open. */
async function startHalf(env: Record<string, string>) {
  const rest = gate();
  const upstream = await listen((_, response) => {
    response.writeHead(200, { "content-length": "4" }).write("ab");
    void rest.opened.then(() => response.end("cd"));
  });
  const gateway = await startGateway({ upstream: { url: upstream }, env: { ...ENV, ...env } });
  const begun = await fetch(gateway.url + PATH, { headers: { authorization: "token t0ken" } });
  return { ...gateway, begun, end: rest.open };
}

test("one file of the outputs takes a place of the caller, which others of the caller wait for, also with HEAD", async () => {
  const { url, begun, end } = await startHalf({ MAX_DOWNLOADS_PER_TOKEN: "1" });
  expect(await taken(url)).toEqual([429, "RATE_LIMITED"]);
  expect(await taken(url, "HEAD")).toEqual([429, null]);
  end();
  expect(await begun.text()).toBe("abcd");
  expect(await taken(url)).toEqual([200, null]);
});

test("one file of the outputs takes a place of all", async () => {
  const { url, begun, end } = await startHalf({ MAX_DOWNLOADS: "1" });
  expect(await taken(url, "GET", "0ther")).toEqual([503, "SERVICE_OVERLOADED"]);
  end();
  expect(await begun.text()).toBe("abcd");
});

test("one file of the outputs that is under way arrives whole when the gateway drains", async () => {
  const { begun, drain, end } = await startHalf({});
  drain();
  end();
  expect(await begun.text()).toBe("abcd");
});

test("files count against what the service allows a token, with HEAD as well", async () => {
  const service = await startFake(() => ({ text: "abcd" }));
  const { url } = await startGateway({ upstream: service, env: { ...ENV, UPSTREAM_RATE_LIMIT: "20/60" } });
  const statuses: unknown[] = [];
  for (let asked = 0; asked < 30; asked++) {
    const [status] = await taken(url, asked % 2 === 0 ? "GET" : "HEAD");
    statuses.push(status);
  }
  const sent = statuses.filter((status) => status === 200).length;
  expect(sent).toBeLessThanOrEqual(20);
  expect(service.calls()).toHaveLength(sent);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});
