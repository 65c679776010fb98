import { describe, expect, test, vi } from "vitest";
import { askFor, firstCodeOf } from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { startMute } from "../support/redis.ts";
import { startExperiments, startReplicas } from "../support/replicas.ts";

const ASK = `{ experiment(id: "ada.mnist.42") { description } }`;
const WRITE = `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "new" }) { experiment { name } } }`;

describe("an operation ends at its deadline although Redis is given longer than that and answers nothing", () => {
  test.each([
    ["at its epoch", { REDIS_SHARED_READS: "on" }, ASK, "UPSTREAM_TIMEOUT"],
    ["at the allowance", { UPSTREAM_RATE_LIMIT: "10000/60" }, ASK, "RATE_LIMITED"],
    ["after a command", {}, WRITE, "UPSTREAM_TIMEOUT"],
  ])("%s", async (_, env, query, code) => {
    const mute = await startMute();
    const service = await startExperiments();
    const [gateway] = await startReplicas(1, mute.url, {
      upstream: service,
      env: { REDIS_TIMEOUT_MS: "300000", REQUEST_TIMEOUT_MS: "1000", CACHE_TTL_MS: "1000", ...env },
    });
    if (!gateway) throw new TypeError("one was started");
    await vi.waitUntil(() => gateway.logged().includes("connected to Redis"), PATIENT);
    expect(firstCodeOf(await askFor(gateway, query))).toBe(code);
  });
});
