import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { preview } from "vite";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";
import { PATIENT } from "../../../test/support/patience.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];
const executablePath = places.find((place) => place && existsSync(place));
if (!executablePath) {
  process.stderr.write(
    "\nNOT RUN: the tests of examples/runs, for want of a browser. Install chromium, or name one in CHROMIUM.\n\n",
  );
}

beforeAll(() => {
  if (executablePath)
    execFileSync("npm", ["run", "--silent", "build"], {
      cwd: root,
      env: { ...process.env, NODE_ENV: "production" },
    });
});

/** The built page in a browser, behind the proxy of vite.config.ts. */
async function open(gatewayUrl: string) {
  vi.stubEnv("GATEWAY", gatewayUrl);
  const server = await preview({ root, logLevel: "silent", preview: { host: "127.0.0.1", port: 0 } });
  vi.unstubAllEnvs();
  onTestFinished(() => server.close());

  const browser = await chromium.launch({
    executablePath: executablePath ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1200, height: 660 }, deviceScaleFactor: 2 });
  page.setDefaultTimeout(PATIENT.timeout);
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/graphql")) sent.push(request.postDataJSON().operationName);
  });
  await page.goto(server.resolvedUrls?.local[0] ?? "");
  return {
    page,
    /** Names of the operations that the page sent since the last look. */
    sent: () => sent.splice(0),
    /** The cells of the table but for the duration, a line a run. */
    rows: async () =>
      (await page.locator("tr[aria-current]").allInnerTexts()).map((line) => line.split("\t").slice(0, -1)),
    graph: page.getByRole("img", { name: "Run graph" }),
  };
}

async function signIn(page: Page, username: string, password = `${username}-demo`) {
  await page.getByPlaceholder("User name").fill(username);
  await page.getByPlaceholder("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

/** What the page should show, asked for without it. */
const EXPECTED = `{
  group(id: "ada.mnist.1") {
    experiments(first: 24, orderBy: CREATED_DESC) {
      nodes { uniqueName status declarations loss: lastMetricValue(name: "loss") }
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

interface Listed {
  readonly uniqueName: string;
  readonly status: string;
  readonly declarations: Readonly<Record<string, unknown>>;
  readonly loss: number | null;
}

interface Placed {
  readonly nodeScheduled: { readonly name: string };
}

test.runIf(executablePath)(
  "what the page shows is what the gateway tells, in one request each for the table, a run and the next page",
  async () => {
    const now = Date.now();
    const { url, ask, calls } = await startDemoGateway({ env, now: () => now });
    const { page, sent, rows, graph } = await open(url);

    await signIn(page, "ada", "wrong");
    await page.getByRole("alert").getByText("User name or password is wrong.").waitFor();
    await signIn(page, "ada");
    await page.getByText("ada.mnist.1.46").waitFor();
    expect(sent()).toEqual(["SignIn", "SignIn", "Group"]);
    expect(calls()).toEqual([
      "GET ada/mnist/experiments?group=1&sort=-created_at&limit=12",
      "GET ada/mnist/groups/1/",
      "POST users/token/",
      "POST users/token/",
    ]);
    expect(await rows()).toHaveLength(12);

    await page.getByRole("button", { name: "ada.mnist.1.44" }).click();
    await graph.waitFor();
    expect(sent()).toEqual(["Run"]);
    expect(calls()).toEqual([
      "GET ada/mnist/builds/2/",
      "GET ada/mnist/experiments/44/",
      "GET ada/mnist/experiments/44/jobs",
      "GET ada/mnist/experiments/44/metrics",
    ]);

    const directory = process.env["PICTURE"];
    if (directory) await page.screenshot({ path: `${directory}/runs.png` });

    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByText("ada.mnist.1.9", { exact: true }).waitFor();
    expect(sent()).toEqual(["MoreRuns"]);
    expect(calls()).toEqual(["GET ada/mnist/experiments?group=1&sort=-created_at&limit=12&offset=12"]);
    expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);

    expect(await page.evaluate("document.cookie.length + localStorage.length + sessionStorage.length")).toBe(
      0,
    );

    const { data } = await ask<Expected, never>(EXPECTED);
    expect(await rows()).toEqual(
      data.group.experiments.nodes.map(({ uniqueName, status, declarations, loss }) => [
        uniqueName,
        status.toLowerCase(),
        ...Object.values(declarations).map(String),
        loss?.toFixed(4) ?? "–",
      ]),
    );
    const { metricSeries, buildJob, jobs } = data.experiment;
    for (const { name, totalPoints } of metricSeries) {
      const line = page.getByRole("img", { name: `${name} over time` }).locator("polyline");
      expect((await line.getAttribute("points"))?.split(" ")).toHaveLength(totalPoints);
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
  },
);

test.runIf(executablePath)("a session that has ended leads back to signing in", async () => {
  const { url, ask } = await startDemoGateway({ env });
  const { page } = await open(url);
  await signIn(page, "grace");
  await page.getByText("ada.mnist.1.46").waitFor();

  await ask(`mutation { deleteUser(username: "grace") { deletedId } }`);
  await page.getByRole("button", { name: "ada.mnist.1.46" }).click();
  await page.getByText("Your session has ended.").waitFor();
  expect(await page.getByRole("table").count()).toBe(0);
});

test.runIf(executablePath)("where a part of the answer fails, the rest is shown with a note", async () => {
  const { url } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "document" } });
  const { page, rows } = await open(url);
  await signIn(page, "ada");

  await page.getByRole("alert").getByText("CAPABILITY_UNAVAILABLE").waitFor();
  await page.getByText("Which learning rate, which dropout, which activation?").waitFor();
  expect(await rows()).toEqual([]);
});

test.runIf(executablePath)("a status and a phase of a newer gateway are shown like the others", async () => {
  const { url } = await startDemoGateway({ env });
  const { page, rows } = await open(url);
  await page.route("**/graphql", async (route) => {
    const response = await route.fetch();
    const told = (await response.text())
      .replaceAll('"RUNNING"', '"FAST_ASLEEP"')
      .replaceAll('"ACTIVE"', '"IDLE"');
    await route.fulfill({ response, body: told });
  });
  await signIn(page, "ada");
  await page.getByRole("button", { name: "ada.mnist.1.44" }).click();
  await page.getByRole("img", { name: "Run graph" }).waitFor();
  expect((await rows()).map(([name, status]) => `${name} ${status}`)).toContain("ada.mnist.1.44 fast asleep");
});
