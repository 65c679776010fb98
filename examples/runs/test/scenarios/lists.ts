import { expect, test } from "vitest";
import { text } from "node:stream/consumers";
import { startDemoGateway, startDemoService } from "../../../../test/support/demo-gateway.ts";
import { latch } from "../../../../test/support/latch.ts";
import { startGateway } from "../../../../test/support/gateway.ts";
import { listen } from "../../../../test/support/listen.ts";
import { fakeClock } from "../../../../test/support/fake-clock.ts";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { allThere, open, signIn } from "../page.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

/** What the page should show, asked for without it. */
const EXPECTED = `{
  group(id: "ada.mnist.1") {
    experiments(first: 24, order: { by: { field: CREATED_AT } }) {
      nodes {
        uniqueName
        status
        parameters { name value }
        accuracy: latestMetric(name: "accuracy") { value }
        loss: latestMetric(name: "loss") { value }
      }
    }
  }
  experiment(id: "ada.mnist.1.44") {
    metricSeries { name totalPoints }
    buildJob { uniqueName nodeScheduled { name } }
    jobs { nodes { role nodeScheduled { name } } }
  }
}`;

interface Expected {
  readonly group: { readonly experiments: { readonly nodes: readonly Listed[] } };
  readonly experiment: {
    readonly metricSeries: readonly { readonly name: string; readonly totalPoints: number }[];
    readonly buildJob: Placed & { readonly uniqueName: string };
    readonly jobs: { readonly nodes: readonly (Placed & { readonly role: string })[] };
  };
}

interface Latest {
  readonly value: number;
}

interface Listed {
  readonly uniqueName: string;
  readonly status: string;
  readonly parameters: readonly { readonly value: unknown }[];
  readonly accuracy: Latest | null;
  readonly loss: Latest | null;
}

interface Placed {
  readonly nodeScheduled: { readonly name: string };
}

const cellsOf = ({ uniqueName, status, parameters, accuracy, loss }: Listed) => [
  uniqueName,
  status.toLowerCase(),
  ...parameters.map(({ value }) => String(value)),
  accuracy?.value.toFixed(4) ?? "–",
  loss?.value.toFixed(4) ?? "–",
];

const byLoss = (a: Listed, b: Listed) => Number(a.loss?.value) - Number(b.loss?.value);
const byAccuracy = (a: Listed, b: Listed) => Number(b.accuracy?.value) - Number(a.accuracy?.value);

/** The names of the runs that have metrics in an order. */
const namesBy = (runs: readonly Listed[], better: (a: Listed, b: Listed) => number) =>
  runs
    .filter(({ loss }) => loss !== null)
    .toSorted(better)
    .map(({ uniqueName }) => uniqueName);

/** All requests from now on, at each look: those for images that the page has already come after what it shows. */
function collected(calls: () => readonly string[]) {
  const all: string[] = [];
  return () => {
    all.push(...calls());
    return all.toSorted();
  };
}

const isNoSubscription = (operation: string) => !operation.startsWith("Watch");

test.runIf(hasBrowser)("the page shows the gateway's data, with one request per view", async () => {
  const now = Date.now();
  // No poll is due while the clock stands.
  const { clock } = fakeClock();
  const { url, ask, calls } = await startDemoGateway({ env, now: () => now, clock });
  const { page, sent, rows, row, graph } = await open(url);

  await signIn(page, "ada", "wrong");
  await page.getByRole("alert").getByText("User name or password is wrong.").waitFor();
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).waitFor();
  expect(sent()).toEqual(["SignIn", "SignIn", "Start"]);
  expect(calls()).toEqual([
    "GET ada/mnist/groups?sort=-created_at%2C-updated_at&limit=5",
    "GET ada/speech/groups?sort=-created_at%2C-updated_at&limit=5",
    "GET ada?limit=12",
    "GET users/",
    "POST users/token/",
    "POST users/token/",
  ]);

  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.46").waitFor();
  expect(sent().filter(isNoSubscription)).toEqual(["Group"]);
  await allThere(page);
  expect(calls()).toEqual([
    "GET ada/mnist/builds/2/",
    "GET ada/mnist/experiments?group=1&sort=-created_at%2C-updated_at&limit=12",
    "GET ada/mnist/groups/1/",
  ]);
  expect(await rows()).toHaveLength(12);

  await row("ada.mnist.1.44").click();
  await graph.waitFor();
  await page.getByRole("definition").getByText("wide-kernels").waitFor();
  expect(sent().filter(isNoSubscription)).toEqual(["Run", "Code"]);
  expect(calls()).toEqual([
    "GET ada/mnist/builds/2/",
    "GET ada/mnist/experiments/44/",
    "GET ada/mnist/experiments/44/coderef",
    "GET ada/mnist/experiments/44/jobs",
    "GET ada/mnist/experiments/44/metrics",
  ]);

  await page.getByRole("button", { name: "Load more" }).click();
  await row("ada.mnist.1.9").waitFor();
  expect(sent().filter(isNoSubscription)).toEqual(["MoreRuns"]);
  await allThere(page);
  expect(calls()).toEqual([
    "GET ada/mnist/builds/1/",
    "GET ada/mnist/builds/2/",
    "GET ada/mnist/experiments?group=1&sort=-created_at%2C-updated_at&limit=12&offset=12",
  ]);
  expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);

  // The token is in the storage of the tab.
  expect(await page.evaluate("document.cookie.length + localStorage.length")).toBe(0);
  expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual(["runs:token"]);

  const { data } = await ask<Expected, never>(EXPECTED);
  expect(await rows()).toEqual(data.group.experiments.nodes.map(cellsOf));
  const { metricSeries, buildJob, jobs } = data.experiment;
  for (const { name, totalPoints } of metricSeries) {
    await page.getByRole("img", { name: `${name} over time` }).waitFor();
    const reading = page.getByRole("slider", { name: `Value of ${name}` });
    expect(await reading.getAttribute("max")).toBe(String(totalPoints - 1));
  }
  const machines = new Set([buildJob, ...jobs.nodes].map(({ nodeScheduled }) => nodeScheduled.name));
  expect(await graph.locator("text").allTextContents()).toEqual([
    "group",
    "ada.mnist.1",
    "run",
    "ada.mnist.1.44",
    "build job",
    buildJob.uniqueName,
    ...jobs.nodes.flatMap(({ role }) => ["job", role]),
    ...[...machines].flatMap((name) => ["machine", name]),
  ]);
});

test.runIf(hasBrowser)("sorting by a metric happens in the service, best first, across pages", async () => {
  const now = Date.now();
  // No poll is due while the clock stands.
  const { clock } = fakeClock();
  const { url, ask, calls } = await startDemoGateway({ env, now: () => now, clock });
  const { page, rows, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.46").waitFor();

  const { data } = await ask<Expected, never>(EXPECTED);
  const all = data.group.experiments.nodes;
  await allThere(page);
  const shown = async () => (await rows()).map(([name]) => name);
  calls();

  await page.getByRole("link", { name: "loss" }).click();
  await page
    .getByText("Sorted by loss, best first. 12 of 23 runs are loaded. Runs without loss are left out.")
    .waitFor();
  const byLossNames = namesBy(all, byLoss);
  expect(await shown()).toEqual(byLossNames.slice(0, 12));
  expect(await page.getByRole("columnheader", { name: "loss" }).getAttribute("aria-sort")).toBe("ascending");
  await allThere(page);
  await expect
    .poll(collected(calls), SHOWN)
    .toEqual([
      "GET ada/mnist/builds/1/",
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments?group=1&sort=metric.loss%2C-created_at&query=metric.loss%3A%3E%3D-1e308&limit=12",
      "GET ada/mnist/groups/1/",
    ]);

  await page.getByRole("button", { name: "Load more" }).click();
  await page.getByText("Sorted by loss, best first. 23 runs. Runs without loss are left out.").waitFor();
  expect(await shown()).toEqual(byLossNames);
  await allThere(page);
  await expect
    .poll(collected(calls), SHOWN)
    .toEqual([
      "GET ada/mnist/builds/1/",
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments?group=1&sort=metric.loss%2C-created_at&query=metric.loss%3A%3E%3D-1e308&limit=12&offset=12",
    ]);

  await page.getByRole("link", { name: "accuracy" }).click();
  await page.getByText("12 of 23 runs are loaded. Runs without accuracy are left out.").waitFor();
  expect(await shown()).toEqual(namesBy(all, byAccuracy).slice(0, 12));
  await allThere(page);
  await expect
    .poll(collected(calls), SHOWN)
    .toEqual([
      "GET ada/mnist/builds/1/",
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments?group=1&sort=-metric.accuracy%2C-created_at&query=metric.accuracy%3A%3E%3D-1e308&limit=12",
      "GET ada/mnist/groups/1/",
    ]);

  await page.getByRole("link", { name: "accuracy" }).click();
  await page.getByText(/^Sorted by accuracy, worst first\. 12 of 23 runs/).waitFor();
  await allThere(page);
  await expect
    .poll(collected(calls), SHOWN)
    .toEqual([
      "GET ada/mnist/builds/1/",
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments?group=1&sort=metric.accuracy%2C-created_at&query=metric.accuracy%3A%3E%3D-1e308&limit=12",
      "GET ada/mnist/groups/1/",
    ]);
  await page.getByRole("link", { name: "accuracy" }).click();
  await page.getByText("12 of 24 runs are loaded.", { exact: true }).waitFor();
  expect(await shown()).toEqual(all.slice(0, 12).map(({ uniqueName }) => uniqueName));
  await allThere(page);
  expect(calls()).toEqual([]);
});

test.runIf(hasBrowser)("the address keeps list, run, order and view across reload and back", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row, graph } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "All runs of ada.mnist" }).click();
  await page.getByRole("link", { name: "loss" }).click();
  await page.getByText("Sorted by loss, best first.").waitFor();
  await row("ada.mnist.42").click();
  await graph.waitFor();
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByRole("log", { name: "Log of ada.mnist.42" }).waitFor();
  const { hash } = new URL(page.url());
  expect(hash).toBe("#list=ada.mnist&run=ada.mnist.42&sort=loss&show=log");

  await page.reload();
  await page.getByRole("log", { name: "Log of ada.mnist.42" }).waitFor();
  await page.getByText("Sorted by loss, best first.").waitFor();
  expect(await page.title()).toBe("ada.mnist.42 – Runs");

  await page.goBack();
  await graph.waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "ada.mnist.42" }).waitFor({ state: "detached" });
  await page.goBack();
  await page.getByText("12 of 46 runs are loaded.", { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Projects of ada" }).waitFor();
});

test.runIf(hasBrowser)("other users' public projects can be opened by name", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, row } = await open(url);
  await signIn(page, "linus");
  await page.getByText("You have no project yet.").waitFor();
  await page.getByLabel("Another project or group").fill("grace.vision");
  await page.getByRole("button", { name: "Open" }).click();
  await row("grace.vision.60").waitFor();
  expect(new URL(page.url()).hash).toBe("#list=grace.vision");
});

test.runIf(hasBrowser)("a table appears after one round of requests, and its images later", async () => {
  const now = Date.now();
  const demo = await startDemoService({ now: () => now });
  const { opened, open: answerBuilds } = latch();
  const service = await listen(async (request, response) => {
    if (request.url?.includes("/builds")) await opened;
    const body = request.method === "POST" ? await text(request) : null;
    const { authorization, "content-type": type = "application/json" } = request.headers;
    const answer = await fetch(`${demo.url}${request.url}`, {
      method: request.method ?? "GET",
      headers: { "content-type": type, ...(authorization && { authorization }) },
      body,
    });
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  // No poll is due while the clock stands: it would find no service when the story ends.
  const { clock } = fakeClock();
  const { url } = await startGateway({ upstream: { url: service }, token: null, env, clock });
  const { page, row, picture } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.46").waitFor();
  expect(await page.getByRole("cell", { name: "…", exact: true }).count()).toBe(12);
  await picture("table-first");
  answerBuilds();
  await allThere(page);
  await picture("table-then");
  expect(await page.locator("td code").allTextContents()).toHaveLength(12);
});
