import { once } from "node:events";
import type { ServerResponse } from "node:http";
import pino from "pino";
import { expect, test } from "vitest";
import { serve } from "../../src/serve.ts";
import { configOf } from "../support/config-of.ts";
import { latch } from "../support/latch.ts";
import { listen } from "../support/listen.ts";
import { OUTPUTS_OF_42 } from "../support/one-read.ts";
import { TEST_SETTINGS } from "../support/test-settings.ts";

test("a draining gateway aborts downloads and their requests after DRAIN_TIMEOUT_MS", async () => {
  const left = latch();
  const url = await listen((_, response: ServerResponse) => {
    response.writeHead(200).write("begun");
    void once(response, "close").then(left.open);
  });
  const serving = await serve({
    config: configOf({ ...TEST_SETTINGS, HOST: "127.0.0.1", PORT: "0", DRAIN_TIMEOUT_MS: "300" }),
    upstreamUrl: new URL(url),
    log: pino({ level: "silent" }),
  });
  const download = await fetch(`http://127.0.0.1:${serving.port}${OUTPUTS_OF_42}`, {
    headers: { authorization: "token t0ken" },
  });
  const text = download.text().catch(String);
  await Promise.all([serving.drain(), left.opened]);
  // A truncated file must not look complete.
  expect(await text).toBe("TypeError: terminated");
});
