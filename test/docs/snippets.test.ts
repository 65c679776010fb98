import { expect, onTestFinished, test } from "vitest";
import { startDemoGateway, still } from "../support/demo-gateway.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { readPage } from "./page.ts";

/** Pages whose operations and settings are run here. */
const RUN = [
  "README.md",
  ...["getting-started", "frontend", "lists", "mutations", "performance", "notebook"].map(
    (name) => `docs/${name}.md`,
  ),
];

const blocks = RUN.flatMap((page) => readPage(page).blocks);

/** Operations, each with the response and the requests that follow it on the page, if any. */
const operations = blocks.flatMap((block, at) => {
  if (block.language !== "graphql") return [];
  const behind = blocks.slice(at + 1, at + 3).filter(({ page }) => page === block.page);
  const end = behind.findIndex(({ language }) => language !== "json" && language !== "http");
  const parts = end === -1 ? behind : behind.slice(0, end);
  const textOf = (language: string) => parts.find((part) => part.language === language)?.text;
  const answer = JSON.parse(textOf("json") ?? "null") ?? { data: expect.any(Object) };
  const requests = textOf("http")?.trim().split("\n").toSorted() ?? expect.any(Array);
  const { page, text } = block;
  return [{ page, name: text.split("\n", 1)[0], text, expected: { answer, requests } }];
});

test.each(operations)(
  "operation $name of $page returns the documented result and upstream requests",
  async ({ page, text, expected }) => {
    let time = still();
    const { ask, calls } = await startDemoGateway({
      env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
      now: () => time,
    });
    for (const hours of page === "README.md" ? [0, 1, 3, 24] : [0]) {
      time = still() + hours * 3_600_000;
      const answer = await ask<unknown, object>(text);
      expect({ answer, requests: calls() }).toEqual(expected);
    }
  },
);

/** Settings, and the command that starts a gateway with them, if there is one. A server of the reader cannot be reached from here. */
const settings = blocks.flatMap(({ language, page, text }) => {
  const [, name = "", , value = ""] = /^(\w+)=(["']?)(.*?)\2(?: npm start)?\n$/.exec(text) ?? [];
  return language !== "sh" || name === "" || name === "UPSTREAM_URL" ? [] : [{ page, name, value }];
});

test.each(settings)("the gateway starts with $name=$value, as $page says", async ({ name, value }) => {
  const { url, kill } = await startGatewayProcess(null, { [name]: value });
  onTestFinished(kill);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});
