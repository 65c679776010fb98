import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { expectSoon, linesOf, openAt, rowOf } from "../page.ts";

const GROUP = "#list=ada.mnist.1";

test.runIf(hasBrowser)("the streams alone update table and charts, even after a reconnect", async () => {
  const { page, ask, work, pollUntil, sent, breakConnections } = await openAt(`${GROUP}&run=ada.mnist.1.44`);
  const chart = page.getByRole("figure", { name: "loss" });
  await chart.waitFor();
  await pollUntil(rowOf(page, "ada.mnist.1.44"));
  await pollUntil(
    page.getByRole("region", { name: "ada.mnist.1", exact: true }).getByText("live", { exact: true }),
  );
  sent();
  const follow = async () => {
    work(60);
    const { data } = await ask<{ experiment: { latestMetric: { value: number } } }, object>(
      `{ experiment(id: "ada.mnist.1.44") { latestMetric(name: "loss") { value } } }`,
    );
    const loss = data.experiment.latestMetric.value.toFixed(4);
    await pollUntil(rowOf(page, "ada.mnist.1.44").getByText(loss));
    await pollUntil(chart.getByText(loss));
  };
  await follow();
  await follow();
  expect(sent()).toEqual([]);
  breakConnections();
  await follow();
  expect(sent().filter((name) => !name.startsWith("Watch"))).toEqual([]);
});

test.runIf(hasBrowser)("the list and its counts update when others start or stop runs", async () => {
  const { page, ask, work, pollUntil, breakConnections } = await openAt(GROUP);
  await page.getByText("24 runs · 15 succeeded · 3 running · 3 failed · 2 stopped").waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  breakConnections();
  await page.getByText("reconnecting…").waitFor();
  await ask(`mutation { stopExperiment(id: "ada.mnist.1.44") { experiment { id } } }`);
  work(5);
  await pollUntil(rowOf(page, "ada.mnist.1.44").getByText("stopped"));
  await page.getByText("24 runs · 15 succeeded · 2 running · 3 failed · 3 stopped").waitFor();

  await page.evaluate(`location.hash = "#list=ada.mnist"`);
  await rowOf(page, "ada.mnist.2.58").waitFor();
  await pollUntil(page.getByText("live", { exact: true }));
  const { data } = await ask<{ restartExperiment: { experiment: { uniqueName: string } } }, object>(
    `mutation { restartExperiment(id: "ada.mnist.42") { experiment { uniqueName } } }`,
  );
  await pollUntil(rowOf(page, data.restartExperiment.experiment.uniqueName));
  expect((await linesOf(page))[0]?.[0]).toBe(data.restartExperiment.experiment.uniqueName);
});

test.runIf(hasBrowser)("a followed log shows each line once, up to the end", async () => {
  const { page, ask, work, demo, pollUntil, breakConnections } = await openAt(
    `${GROUP}&run=ada.mnist.1.44&show=log`,
  );
  const log = page.getByRole("log");
  const isAtEnd = () =>
    log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 24);
  await log.filter({ hasText: "epoch 44" }).waitFor();
  work(60);
  await pollUntil(log.filter({ hasText: "epoch 45" }));
  await expectSoon(isAtEnd).toBe(true);
  breakConnections();
  await page.getByText("reconnecting…").first().waitFor();
  work(60);
  await pollUntil(log.filter({ hasText: "epoch 46" }));
  // The position of a reader who has scrolled up stays.
  await log.evaluate((element) => element.scrollTo({ top: 0 }));
  const end = page.getByRole("button", { name: "To the end" });
  await end.waitFor();
  await ask(`mutation { stopExperiment(id: "ada.mnist.1.44") { experiment { id } } }`);
  work(5);
  await pollUntil(log.filter({ hasText: "ada.mnist.1.44 stopped" }));
  expect(await isAtEnd()).toBe(false);
  await end.click();
  await expectSoon(isAtEnd).toBe(true);

  const response = await fetch(`${demo.url}/api/v1/ada/mnist/experiments/44/logs/`, {
    headers: { authorization: `token ${demo.users[0]?.token}` },
  });
  const shown = (await log.textContent()) ?? "";
  expect(shown.split("\n").length).toBeGreaterThan(500);
  expect((await response.text()).endsWith(shown)).toBe(true);
});

test.runIf(hasBrowser)("a page closes its streams while hidden, and catches up when shown", async () => {
  const { page, work, ask, pollUntil, sent } = await openAt(GROUP);
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
  await ask(`mutation { stopExperiment(id: "ada.mnist.1.44") { experiment { id } } }`);
  work(5);
  await turn("visible");
  await pollUntil(rowOf(page, "ada.mnist.1.44").getByText("stopped"));
});
