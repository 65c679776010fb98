import { describe, expect, test, vi } from "vitest";
import { hasBrowser, SHOWN, reportMissingBrowser } from "../support/browser.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { type Seen, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import {
  answerOf,
  choose,
  click,
  menuOf,
  openOperation,
  reload,
  run,
  signIn,
  storesOf,
  shareGraphiql,
} from "./graphiql.ts";

reportMissingBrowser("the tests of the GraphiQL page");

const open = shareGraphiql();

describe.runIf(hasBrowser)("GraphiQL", () => {
  test("estimates the upstream requests of an operation before it runs", async () => {
    const gateway = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const { page, complaints } = await open(gateway.url);
    const panel = page.getByRole("region", { name: "Upstream requests" });
    const rows = panel.getByRole("treeitem");
    await openOperation(page, "GroupGraph");
    await panel.getByText("Estimate: at least 5 requests · 3 rounds").waitFor();
    await rows.filter({ hasText: "builds/" }).getByText("at most one per item").waitFor();
    await rows.filter({ hasText: "builds/" }).hover({ position: { x: 100, y: 10 } });
    await page.getByRole("tooltip").getByText("group.experiments.nodes.0.buildJob").waitFor();
    expect(gateway.calls().filter((call) => call.includes("mnist"))).toEqual([]);

    await page.locator(".graphiql-query-editor .monaco-editor").first().click();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("{ viewer { username");
    await panel.getByText("Estimate: at least 1 request · 1 round").waitFor();
    await page.keyboard.press("Escape");
    await run(page);
    await panel.getByText(/^\d requests? · .* ms$/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("lists a response's upstream requests, and the reason for each", async () => {
    const { url } = await startDemoGateway();
    const { page, complaints } = await open(url);
    const panel = page.getByRole("region", { name: "Upstream requests" });
    const rows = panel.getByRole("treeitem");
    const isAsked = async () => {
      const sending = page.waitForRequest(
        (request) => request.method() === "POST" && request.headers()["x-rungraph-explain"] !== "plan",
      );
      await run(page);
      return (await (await sending).headerValue("x-rungraph-explain")) === "1";
    };
    await openOperation(page, "ExperimentPage");
    expect(await isAsked()).toBe(true);
    await panel.getByText(/^3 requests · 2 rounds · /).waitFor();
    expect(await rows.locator(".template").allTextContents()).toEqual(
      expect.arrayContaining(["experiments/{id}/", "experiments/{id}/statuses", "builds/{id}/"]),
    );
    await rows.filter({ hasText: "builds/" }).hover({ position: { x: 100, y: 10 } });
    const details = page.getByRole("tooltip");
    await details.getByText("GET {owner}/{project}/builds/{id}/").waitFor();
    expect(await details.getByRole("listitem").allTextContents()).toEqual(["experiment.buildJob"]);
    await answerOf(page).getByText("ada.mnist.42").first().waitFor();
    expect(await answerOf(page).locator(".monaco-editor").textContent()).not.toContain("explain");

    await openOperation(page, "LiveRuns");
    await panel.getByText("The requests of a subscription are not listed").waitFor();
    await choose(page, "ExperimentPage");
    await panel.getByText(/^3 requests/).waitFor();

    const fold = panel.getByRole("button", { name: "Upstream requests" });
    await click(page, fold);
    await expect.poll(() => rows.count(), SHOWN).toBe(0);
    expect(await isAsked()).toBe(false);
    await reload(page, "ExperimentPage");
    expect(await fold.getAttribute("aria-expanded")).toBe("false");
    await click(page, fold);
    expect(await isAsked()).toBe(true);
    await expect.poll(() => rows.count(), SHOWN).toBe(3);
    expect(complaints).toEqual([]);
  });

  test("shows many equal requests of a round as one row", async () => {
    const { url } = await startDemoGateway();
    const requests = Array.from({ length: 13 }, (_, index) => ({
      method: "GET",
      template: "{owner}/{project}/experiments/{id}/",
      attempt: 1,
      round: 1,
      status: 200,
      error: null,
      startMs: index,
      waitedMs: 20,
      waitedFor: "CONCURRENCY",
      durationMs: 5 + index,
      bytes: 100,
      reads: 1,
      fields: [`run${index}`],
      moreFields: 0,
    }));
    const totals = { requests: 13, rounds: 1, bytes: 1_300, durationMs: 40, withoutRungraph: 13 };
    const explain = { requests, reads: {}, free: { links: 0 }, totals };
    const { page } = await open(url);
    await page.route("**/graphql", (route) => route.fulfill({ json: { data: {}, extensions: { explain } } }));
    await run(page);
    const panel = page.getByRole("region", { name: "Upstream requests" });
    await panel.getByText(/^13 requests · 1 round · /).waitFor();
    await panel.getByRole("treeitem").hover({ position: { x: 100, y: 10 } });
    const details = page.getByRole("tooltip");
    await details.getByText("13 requests · 5.0–17 ms from 0.0 ms · 1.3 kB · round 1").waitFor();
    const named = requests.slice(0, 6).flatMap(({ fields }) => fields);
    expect(await details.getByRole("listitem").allTextContents()).toEqual(named);
    await details.getByText("and 7 more").waitFor();
  });

  test("shows no upstream requests when EXPLAIN is off", async () => {
    const { url } = await startDemoGateway({ env: { EXPLAIN: "off" } });
    const { page } = await open(url);
    await run(page);
    await answerOf(page).getByText('"ada.mnist.42"').first().waitFor();
    expect(await page.getByRole("region", { name: "Upstream requests" }).count()).toBe(0);
  });

  test("signs in once for all tabs until the session ends", async () => {
    const { demo } = await startDemoGateway();
    const { url } = await startGateway({ upstream: demo, token: null });
    const { page } = await open(url);
    await run(page);
    await answerOf(page).getByText("UNAUTHENTICATED").waitFor();
    await page.getByRole("status").filter({ hasText: "Sign in to run this." }).waitFor();

    await signIn(page, "ada", "wrong");
    await page.getByRole("status").filter({ hasText: "User name or password is wrong." }).waitFor();
    expect(await page.getByLabel("User name").inputValue()).toBe("ada");
    expect(await page.getByLabel("Password").inputValue()).toBe("");
    await signIn(page, "ada", "ada-demo");
    await page.getByText("Signed in as ada").and(page.locator(":focus")).waitFor();
    await run(page);
    await answerOf(page).getByText('"username": "ada"').waitFor();

    await openOperation(page, "ClusterPage");
    await reload(page, "ClusterPage");
    await page.getByText("Signed in as ada").waitFor();
    await run(page);
    await answerOf(page).getByText('"cluster"').first().waitFor();

    const { local, session } = await storesOf(page);
    const [token = ""] = demo.users.filter(({ username }) => username === "ada").map((user) => user.token);
    expect(session).toContain(token);
    for (const secret of [token, "ada-demo"]) expect(local).not.toContain(secret);

    await click(page, page.getByText("Signed in as ada"));
    await click(page, page.getByRole("button", { name: "Sign out" }));
    await page.getByText("Sign in", { exact: true }).and(page.locator(":focus")).waitFor();
    expect((await storesOf(page)).session).not.toContain(token);
    await run(page);
    await answerOf(page).getByText("UNAUTHENTICATED").first().waitFor();
  });

  test("ends streams and clears responses when a user signs out", async () => {
    const states: Record<string, string> = { ada: "running", bob: "scheduled" };
    const nameOf = ({ headers }: Seen) => String(headers["authorization"]).replace("token ", "");
    const service = await startFake((seen) => {
      const username = nameOf(seen);
      return { json: { id: 42, username, unique_name: "ada.mnist.42", last_status: states[username] } };
    });
    const readsOf = (name: string) => service.seen().filter((seen) => nameOf(seen) === name).length;
    const { clock, reach, timers } = fakeClock();
    const { url } = await startGateway({ upstream: service, exampleToken: "ada", clock });
    const { page, complaints } = await open(url);
    await openOperation(page, "StartPage");
    await run(page);
    await answerOf(page).getByText('"username": "ada"').waitFor();
    const watch = async (begin: number, state: string) => {
      await run(page);
      await reach(begin + FIRST_POLL);
      await answerOf(page).getByText(state).waitFor();
    };
    await openOperation(page, "LiveStatus");
    await watch(0, '"RUNNING"');

    await click(page, page.getByText("Signed in as ada"));
    await click(page, page.getByRole("button", { name: "Sign out" }));
    await page.getByText("Sign in", { exact: true }).first().waitFor();
    await vi.waitUntil(() => !timers().includes(1_000), LONG_TIMEOUT);
    states["ada"] = "stopping";
    const reads = readsOf("ada");
    await answerOf(page).waitFor();
    expect(await answerOf(page).textContent()).not.toContain("RUNNING");

    await click(page, page.getByText("Sign in", { exact: true }).first());
    await page.getByLabel("or a token").fill("bob");
    await click(page, page.getByRole("button", { name: "Use token" }));
    await page.getByText("Signed in as bob").waitFor();
    expect(await answerOf(page).textContent()).not.toMatch(/RUNNING|STOPPING/);
    await choose(page, "LiveStatus");
    await watch(FIRST_POLL, '"SCHEDULED"');
    await reach(1_020);
    expect(await answerOf(page).textContent()).not.toMatch(/RUNNING|STOPPING/);
    await choose(page, "StartPage");
    await answerOf(page).getByText('"SCHEDULED"').waitFor({ state: "hidden" });
    expect(await answerOf(page).textContent()).not.toContain("ada");
    const menu = menuOf(page, "Operations");
    await click(page, menu.locator("summary"));
    expect(await menu.locator("h2 + ul").first().textContent()).not.toContain("ada");
    expect(readsOf("ada")).toBe(reads);
    expect(complaints).toEqual([]);
  });

  test("accepts a token, and forgets a token that the service rejects", async () => {
    const { demo } = await startDemoGateway();
    const { url } = await startGateway({ upstream: demo, token: null });
    const { page } = await open(url);
    await click(page, page.getByText("Sign in", { exact: true }).first());
    const give = async (token: string) => {
      await page.getByLabel("or a token").fill(token);
      await click(page, page.getByRole("button", { name: "Use token" }));
    };
    await give(`-H "authorization: Bearer wr0ng"`);
    await page.getByText("The service does not take this token: Invalid token").waitFor();
    await give("a ☃");
    await page.getByText("A token is one word").waitFor();
    expect((await storesOf(page)).session).not.toContain("wr0ng");
    await give(` Authorization: token ${demo.users[0]?.token ?? ""} `);
    await page.getByText("Signed in as ada").and(page.locator(":focus")).waitFor();
  });

  test("reports beside the sign-in form that the gateway is unreachable", async () => {
    const { url } = await startGateway({ upstream: await startFake(() => undefined), token: null });
    const { page } = await open(url);
    await click(page, page.getByText("Sign in", { exact: true }).first());
    await page.context().setOffline(true);
    await signIn(page, "ada", "secret");
    await page.locator("#account").getByText("The gateway cannot be reached").waitFor();
    expect(await page.getByLabel("User name").inputValue()).toBe("ada");
    expect(await page.getByLabel("Password").inputValue()).toBe("");
  });

  test("shows names with markup as plain text", async () => {
    const name = `<img src=x onerror="document.title='run'"><b>bold</b>`;
    const service = await startFake(() => ({ json: { username: name, description: name } }));
    const { url } = await startGateway({ upstream: service, token: null });
    const { page, elsewhere } = await open(url);
    await click(page, page.getByText("Sign in", { exact: true }).first());
    await page.getByLabel("or a token").fill("t0ken");
    await click(page, page.getByRole("button", { name: "Use token" }));
    await page.getByText(`Signed in as ${name}`).waitFor();
    await run(page);
    const value = answerOf(page).getByText("onerror").first();
    await value.waitFor();
    // The tooltip contains the value as well.
    await value.hover();
    await expect.poll(() => answerOf(page).textContent(), SHOWN).toContain("<b>bold</b>");
    expect(await page.title()).toBe("Rungraph");
    expect(await page.locator("img[src=x], b").count()).toBe(0);
    expect(elsewhere).toEqual([]);
  });

  test("runs no scripts except its own", async () => {
    const { url } = await startDemoGateway();
    const { page, complaints } = await open(url);
    await page.evaluate(`document.body.append(Object.assign(document.createElement("script"), {
      text: "document.title = 'run'",
    }))`);
    const image = `<img src=x onerror="document.title='run'">`;
    await page.evaluate(`document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(image)})`);
    await expect.poll(() => complaints.join("\n"), SHOWN).toMatch(/content security policy/i);
    expect(await page.title()).toBe("Rungraph");
  });
});
