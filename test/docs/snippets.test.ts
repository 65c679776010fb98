import { expect, onTestFinished, test } from "vitest";
import { startDemoGateway, still } from "../support/demo-gateway.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { type Block, readPage } from "./page.ts";

/** Pages whose operations and settings are run here. */
const RUN = ["README.md", ...["start", "frontend", "notebook"].map((name) => `docs/${name}.md`)];

const blocks = RUN.flatMap((page) => readPage(page).blocks);
/** Settings, and perhaps the command that starts a gateway with them. */
const settingsOf = ({ language, text }: Block) =>
  language === "sh" && !text.includes("npm ci") ? /^(\w+)=(["']?)(.*?)\2(?: npm start)?\n$/.exec(text) : null;

/** Operations, each with the answer and the requests that follow it, where they do. */
const operations = blocks.flatMap((block, at) => {
  if (block.language !== "graphql") return [];
  const behind = blocks.slice(at + 1, at + 3);
  const end = behind.findIndex(({ language }) => language !== "json" && language !== "http");
  const parts = end === -1 ? behind : behind.slice(0, end);
  const textOf = (language: string) => parts.find((part) => part.language === language)?.text ?? null;
  const [answer, requests] = [textOf("json"), textOf("http")];
  const expected = {
    answer: answer === null ? { data: expect.any(Object) } : JSON.parse(answer),
    requests: requests?.trim().split("\n").toSorted() ?? expect.any(Array),
  };
  return [{ page: block.page, name: block.text.split("\n", 1)[0], block, parts, expected }];
});

test.each(operations)(
  "the operation $name of $page has the result and the upstream requests that follow it",
  async ({ block, expected }) => {
    const { ask, calls } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const answer = await ask<unknown, object>(block.text);
    expect({ answer, requests: calls() }).toEqual(expected);
  },
);

test.each(operations.filter(({ page }) => page === "README.md"))(
  "the result of $name of $page stays true for a day",
  async ({ block, expected }) => {
    let time = still();
    const { ask } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" }, now: () => time });
    for (const hours of [1, 3, 24]) {
      time = still() + hours * 3_600_000;
      expect(await ask<unknown, object>(block.text)).toEqual(expected.answer);
    }
  },
);

test.each(
  blocks.flatMap((block) => {
    const [, name = "", , value = ""] = settingsOf(block) ?? [];
    // A server of the reader's own cannot be reached from here.
    return name === "" || name === "UPSTREAM_URL" ? [] : [{ page: block.page, name, value }];
  }),
)("the gateway starts with $name=$value, as $page says", async ({ name, value }) => {
  const { url, kill } = await startGatewayProcess(null, { [name]: value });
  onTestFinished(kill);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});
