import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { allThere, open, signIn } from "../page.ts";
import { startLive } from "../start-live.ts";

/** Points of a chart, by the slider that reads them. */
const pointsOf = async (reading: Locator) => Number(await reading.getAttribute("max")) + 1;

/** Numbers of the progress of run 44, asked for without the page. */
const PROGRESS = `{
  experiment(id: "ada.mnist.1.44") {
    loss: latestMetric(name: "loss") { value }
    metricSeries(names: ["loss"]) { totalPoints }
  }
}`;

interface Progress {
  readonly experiment: {
    readonly loss: { readonly value: number };
    readonly metricSeries: readonly [{ totalPoints: number }];
  };
}

test.runIf(hasBrowser)("table and chart follow a run without requests, and survive a reconnect", async () => {
  const { url, ask, work, pollUntil } = await startLive();
  const { page, row, sent, breakConnections } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.44").click();
  const reading = page.getByRole("slider", { name: "Value of loss" });
  await reading.waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  const before = await pointsOf(reading);
  sent();

  const follow = async (minutes: number) => {
    work(60);
    const { data } = await ask<Progress, never>(PROGRESS);
    expect(data.experiment.metricSeries[0].totalPoints).toBe(before + minutes);
    const loss = data.experiment.loss.value.toFixed(4);
    await pollUntil(page.getByRole("row", { name: "ada.mnist.1.44" }).getByText(loss));
    await pollUntil(page.getByText(new RegExp(`^${loss} at`)));
    expect(await pointsOf(reading)).toBe(before + minutes);
  };
  await follow(1);
  await follow(2);
  expect(sent()).toEqual([]);
  await allThere(page);
  breakConnections();
  await follow(3);
  expect(sent().toSorted()).toEqual(["WatchMetrics", "WatchRuns"]);
});

test.runIf(hasBrowser)("runs that others start and stop update the list and its counts", async () => {
  const { url, ask, work, pollUntil } = await startLive();
  const { page, row, rows, breakConnections } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await page.getByText("24 runs · 15 succeeded · 3 running · 3 failed · 2 stopped").waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  const stop = async (name: string) => {
    await ask(`mutation { stopExperiment(id: "${name}") { experiment { id } } }`);
    work(5);
    await pollUntil(page.getByRole("row", { name }).getByText("stopped"));
  };
  // Also what happens while the connection is away.
  await allThere(page);
  breakConnections();
  await page.getByText("reconnecting…").waitFor();
  await stop("ada.mnist.1.44");
  await page.getByText("24 runs · 15 succeeded · 2 running · 3 failed · 3 stopped").waitFor();
  await stop("ada.mnist.1.43");
  await page.getByText("24 runs · 15 succeeded · 1 running · 3 failed · 4 stopped").waitFor();

  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("link", { name: "All runs of ada.mnist" }).click();
  await row("ada.mnist.2.58").waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  const { data } = await ask<{ restartExperiment: { experiment: { uniqueName: string } } }, never>(
    `mutation { restartExperiment(id: "ada.mnist.42") { experiment { uniqueName } } }`,
  );
  const { uniqueName } = data.restartExperiment.experiment;
  await pollUntil(row(uniqueName));
  expect((await rows())[0]?.[0]).toBe(uniqueName);
});

test.runIf(hasBrowser)("a stopped run is shown in heading, table and button result", async () => {
  const { url, work, pollUntil } = await startLive();
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.44").click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop the run" }).click();
  await page.getByRole("row", { name: "ada.mnist.1.44" }).getByText("stopping").waitFor();
  await page.getByText("Stopping…").waitFor();
  work(5);
  await pollUntil(page.getByText("Stopped.", { exact: true }));
  await page.getByRole("heading", { name: "ada.mnist.1.44" }).getByText("stopped").waitFor();
  await page.getByRole("row", { name: "ada.mnist.1.44" }).getByText("stopped").waitFor();
  expect(await page.getByRole("button", { name: "Stop", exact: true }).count()).toBe(0);
});

test.runIf(hasBrowser)("a log is followed to its end without losing lines on reconnect", async () => {
  const { url, ask, work, demo, pollUntil } = await startLive();
  const { page, row, breakConnections } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.44").click();
  await page.getByRole("link", { name: "Log" }).click();
  const log = page.getByRole("log");
  const isAtEnd = () =>
    log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 24);
  await log.filter({ hasText: "epoch 44" }).waitFor();
  expect(await isAtEnd()).toBe(true);

  work(60);
  await pollUntil(log.filter({ hasText: "epoch 45" }));
  expect(await isAtEnd()).toBe(true);

  await allThere(page);
  breakConnections();
  await page.getByText("reconnecting…").waitFor();
  work(60);
  await pollUntil(log.filter({ hasText: "epoch 46" }));

  // Who reads further up is left alone.
  await log.evaluate((element) => element.scrollTo({ top: 0 }));
  const end = page.getByRole("button", { name: "To the end" });
  await end.waitFor();
  await ask(`mutation { stopExperiment(id: "ada.mnist.1.44") { experiment { id } } }`);
  work(5);
  await pollUntil(log.filter({ hasText: "ada.mnist.1.44 stopped" }));
  expect(await isAtEnd()).toBe(false);
  await end.click();
  await end.waitFor({ state: "detached" });
  expect(await isAtEnd()).toBe(true);

  const response = await fetch(`${demo.url}/api/v1/ada/mnist/experiments/44/logs/`, {
    headers: { authorization: `token ${demo.users[0]?.token}` },
  });
  const file = await response.text();
  const shown = (await log.textContent()) ?? "";
  expect(shown.split("\n").length).toBeGreaterThan(500);
  expect(file.endsWith(shown)).toBe(true);
});

test.runIf(hasBrowser)("a hidden page stops its subscriptions and catches up once visible", async () => {
  const { url, ask, work, pollUntil } = await startLive();
  const { page, sent } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await pollUntil(page.getByText("live", { exact: true }));
  const turn = (state: string) =>
    page.evaluate(`
      Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    `);
  const closed = page.waitForEvent("requestfailed");
  sent();
  await turn("hidden");
  expect((await closed).postDataJSON().operationName).toBe("WatchRuns");
  work(60);
  const { data } = await ask<Progress, never>(PROGRESS);
  await turn("visible");
  await pollUntil(
    page.getByRole("row", { name: "ada.mnist.1.44" }).getByText(data.experiment.loss.value.toFixed(4)),
  );
  expect(sent()).toEqual(["WatchRuns"]);
});
