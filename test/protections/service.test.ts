import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { ASK_STATUS, askFor, firstCodeOf, jsonText, recordTextOf } from "../support/one-read.ts";

const LONG = Buffer.from(recordTextOf(2_000_000));

test.each<[string, Buffer, string?]>([
  ["plain", LONG],
  ["compressed", gzipSync(LONG), "gzip"],
  ["compressed otherwise", brotliCompressSync(LONG), "br"],
  ["compressed twice", gzipSync(gzipSync(LONG)), "gzip, gzip"],
])(
  "an answer of the service has at most MAX_JSON_BYTES when it is inflated: %s",
  async (_, body, encoding) => {
    const service = await startFake(() => jsonText(body, encoding));
    const env = { MAX_JSON_BYTES: "1000000", MAX_UPSTREAM_BYTES: "1500000" };
    const gateway = await startGateway({ upstream: service, env });
    // What is refused is let go: the caller may hold as much again.
    for (const _ of [1, 2]) expect(firstCodeOf(await askFor(gateway))).toBe("UPSTREAM_BAD_RESPONSE");
  },
);

test("a read that the service is not ready for is tried again, a command is not, nor what it wants much later", async () => {
  const service = await startFake(() => ({ json: {}, status: 503 }));
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
  expect(firstCodeOf(await askFor(gateway, ASK_STATUS))).toBe("UPSTREAM_UNAVAILABLE");
  const stop = `mutation { stopJob(id: "ada.mnist.jobs.3", force: true) { job { id } } }`;
  expect(firstCodeOf(await askFor(gateway, stop))).toBe("UPSTREAM_UNAVAILABLE");
  const read = "GET ada/mnist/experiments/42/";
  expect(service.inOrder()).toEqual([read, read, read, "POST ada/mnist/jobs/3/stop"]);
  const later = await startFake(() => ({ json: {}, status: 503, headers: { "retry-after": "5" } }));
  expect(firstCodeOf(await askFor(await startGateway({ upstream: later })))).toBe("UPSTREAM_UNAVAILABLE");
  expect(later.inOrder()).toEqual([read]);
});
