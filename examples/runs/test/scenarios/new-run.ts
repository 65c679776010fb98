import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { faultsOf, looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { alertOf, focusIn, open, signIn } from "../page.ts";
import { startLive } from "../start-live.ts";

const RUN = "#list=ada.mnist.1&run=ada.mnist.1.28";

function dialogOf(page: Page) {
  const dialog = page.getByRole("dialog", { name: /^New run like/ });
  return {
    dialog,
    button: page.getByRole("button", { name: "New run" }),
    specification: dialog.getByLabel("Specification, in YAML"),
    field: (name: string) => dialog.getByLabel(name, { exact: true }),
    start: () => dialog.getByRole("button", { name: "Start" }).click(),
  };
}

const SPECIFICATION = `version: 1
kind: experiment
build:
  image: pytorch/pytorch:0.4.1
  build_steps:
    - apt-get update
    - pip install -U numpy scipy
run:
  cmd: python train.py --lr=0.101 --dropout=0.25 --activation=sigmoid
`;

const CREATED = `query ($id: ID!) {
  experiment(id: $id) { name tags config { raw } parameters { name value } }
}`;

test.runIf(hasBrowser)(
  "a new run starts from another run's specification, opens, and is followed",
  async () => {
    const { url, ask, work, pollUntil } = await startLive();
    const { page, address, sent } = await open(url);
    await page.goto(`${address}${RUN}`);
    await signIn(page, "ada");
    const { dialog, button, specification, field, start } = dialogOf(page);
    await button.click();
    expect(await specification.inputValue()).toBe(SPECIFICATION);
    await specification.fill(SPECIFICATION.replace("train.py", "tune.py"));
    await field("Name").fill("tuned");
    await field("Tags").fill("one, two");
    await field("lr").fill("0.5");
    sent();
    await start();
    await dialog.waitFor({ state: "hidden" });
    const heading = page.getByRole("heading", { name: /created$/ });
    await heading.waitFor();
    const [name = ""] = (await heading.innerText()).split(" ");
    expect(new URL(page.url()).hash).toBe(`#list=ada.mnist&run=${name}`);
    expect(await focusIn(page)).toBe(name);
    expect(sent().filter((each) => each === "StartExperiment")).toHaveLength(1);

    const { data } = await ask<{ experiment: object }, object>(CREATED, { id: name });
    expect(data.experiment).toEqual({
      name: "tuned",
      tags: ["one", "two"],
      config: {
        raw: {
          version: 1,
          kind: "experiment",
          build: {
            image: "pytorch/pytorch:0.4.1",
            build_steps: ["apt-get update", "pip install -U numpy scipy"],
          },
          run: { cmd: "python tune.py --lr=0.101 --dropout=0.25 --activation=sigmoid" },
        },
      },
      parameters: [
        { name: "activation", value: "sigmoid" },
        { name: "dropout", value: 0.25 },
        { name: "lr", value: 0.5 },
      ],
    });
    await pollUntil(page.getByText("live", { exact: true }));
    for (const [seconds, status] of [
      [20, "running"],
      [40, "succeeded"],
    ] as const) {
      work(seconds);
      await pollUntil(page.getByRole("heading", { name: `${name} ${status}` }));
    }
  },
);

test.runIf(hasBrowser).each([
  { kind: "a job", hash: "#list=ada.mnist&job=ada.mnist.jobs.5" },
  { kind: "a build", hash: "#list=ada.mnist&build=ada.mnist.builds.1" },
])("a new run of $kind opens and is followed until it succeeds", async ({ hash }) => {
  const { url, work, pollUntil } = await startLive();
  const { page, address } = await open(url);
  await page.goto(`${address}${hash}`);
  await signIn(page, "ada");
  const { dialog, button, start } = dialogOf(page);
  await button.click();
  await start();
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("heading", { name: /created$/ }).waitFor();
  expect(new URL(page.url()).hash).toMatch(
    /^#list=ada\.mnist&(?:job|build)=ada\.mnist\.(?:jobs|builds)\.\d+$/,
  );
  expect(new URL(page.url()).hash).not.toBe(hash);
  await page.locator("main:focus").waitFor();
  work(60);
  await pollUntil(page.getByRole("heading", { name: /succeeded$/ }));
  await page.getByText("finished", { exact: true }).waitFor();
});

test.runIf(hasBrowser)("new-run errors appear beside their field, and the input is kept", async () => {
  const { page, calls } = await openAt(RUN);
  const { dialog, button, specification, field, start } = dialogOf(page);
  await button.click();
  expect(await focusIn(page)).toBe("specification");
  calls();
  const refused = async (text: string) => {
    await start();
    await dialog.getByText(text).waitFor();
  };
  const typed = "version: 1\nkind: experiment\nrun: {cmd: a\n  b: }";
  await specification.fill(typed);
  await field("Tags").fill("kept");
  await refused("Expected YAML, got a syntax error at line 3, column 12");
  expect(await alertOf(page)).toMatch(/BAD_USER_INPUT$/);
  const focused = page.locator(":focus");
  const caret = await focused.evaluate((element) => (element as { selectionStart?: number }).selectionStart);
  expect(caret).toBe(typed.indexOf("a\n  b"));
  expect(await focused.getAttribute("aria-invalid")).toBe("true");
  expect(await faultsOf(page)).toEqual([]);

  // It is closed and opened again.
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  expect(await focusIn(page)).toMatch(/^New run/);
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  expect([await specification.inputValue(), await field("Tags").inputValue()]).toEqual([typed, "kept"]);

  await specification.fill("version: 1\nkind: job\nrun: {cmd: a}");
  await refused('Expected kind: experiment, got kind: "job"');
  await specification.fill("version: 1\nkind: experiment\nrun: {cmd: a}");
  await field("Name").fill("not a name");
  await refused("Expected letters, digits, - and _");
  expect(await focusIn(page)).toBe("name");
  expect(calls().filter((call) => call.startsWith("POST"))).toEqual([]);
  // What only the service refuses.
  await field("Name").fill("");
  await specification.fill("kind: experiment\nrun: {cmd: a}");
  await refused("The Polyaxonfile `version` must be specified.");
  expect(await focusIn(page)).toBe("specification");
  await page.route("**/graphql", (route) => route.abort());
  await refused("The gateway cannot be reached.");
  await page.unroute("**/graphql");
  await specification.fill(SPECIFICATION);
  await start();
  await page.getByRole("heading", { name: /created$/ }).waitFor();
});

test.runIf(hasBrowser)("unsupported tags of a job are refused beside their field", async () => {
  const { page } = await openAt("#list=ada.mnist&job=ada.mnist.jobs.5", {}, "polyaxon-0.2");
  const { dialog, button, field, start } = dialogOf(page);
  await button.click();
  await field("Tags").fill("one");
  await start();
  await dialog.getByRole("alert").waitFor();
  expect(await alertOf(page)).toMatch(/`tags` as input.* CAPABILITY_UNAVAILABLE$/);
  expect(await focusIn(page)).toBe("tags");
  await field("Tags").fill("");
  await start();
  await page.getByRole("heading", { name: /created$/ }).waitFor();
});

test.runIf(hasBrowser)("no button is shown where the server cannot create runs", async () => {
  const { page, graph } = await openAt("#list=ada.mnist&run=ada.mnist.42", {}, "document");
  await graph.waitFor();
  await page.getByRole("button", { name: "Restart" }).waitFor();
  expect(await dialogOf(page).button.count()).toBe(0);
});

test.runIf(hasBrowser)("a project lists jobs; the new-run form fits every size and mode", async () => {
  const opened = await openAt("#list=ada.mnist");
  const { page, complaints } = opened;
  await page.getByText("Jobs", { exact: true }).click();
  await page.getByRole("link", { name: "ada.mnist.jobs.5" }).click();
  const { dialog, button, start } = dialogOf(page);
  await button.waitFor();
  await looksWell(opened, "job");
  await page.goto(page.url().replace(/#.*/, RUN));
  await button.click();
  await dialog.getByLabel("Name", { exact: true }).fill("not a name");
  await start();
  await dialog.getByRole("alert").waitFor();
  await looksWell(opened, "new-run");
  // A window of 1280 pixels at 200 %.
  await page.setViewportSize({ width: 640, height: 400 });
  const { x = -1, width = 0 } = (await dialog.boundingBox()) ?? {};
  expect(x).toBeGreaterThanOrEqual(0);
  expect(x + width).toBeLessThanOrEqual(640);
  expect(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await dialog.getByRole("button", { name: "Start" }).scrollIntoViewIfNeeded();
  await dialog.getByRole("button", { name: "Start" }).click({ trial: true });
  expect(complaints).toEqual([]);
});
