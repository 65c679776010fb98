import { expect, test } from "vitest";
import { readPage } from "../docs/page.ts";
import { startDemoGateway, tokenOf } from "../support/demo-gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { subscribe } from "../support/subscriber.ts";

const { blocks } = readPage("docs/live.md");
const document = blocks.find(({ language }) => language === "graphql");
const [, body = "{}"] = /-d '(.*)'/.exec(blocks.find(({ text }) => text.includes("curl"))?.text ?? "") ?? [];

test.each([
  ["document", document?.text ?? ""],
  ["request", (JSON.parse(body) as { readonly query: string }).query],
])("the %s of docs/live.md tells the run that it names", async (_, query) => {
  const { clock, advance } = handClock();
  const { url, demo } = await startDemoGateway({ clock });
  const watcher = await subscribe(url, { query, token: tokenOf(demo, "ada") });
  advance(FIRST_POLL);
  expect(await watcher.next()).toMatchObject({
    data: { runUpdated: { run: { status: "SUCCEEDED", isFinished: true } } },
  });
  expect(await watcher.next()).toBe(null);
});
