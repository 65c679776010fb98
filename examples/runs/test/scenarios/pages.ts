import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { alertOf, allThere, PHONE } from "../page.ts";

const RUN = "#list=ada.mnist.1&run=ada.mnist.1.28";

/** What the pages should show, asked for without them. */
const EXPECTED = `{
  experiment(id: "ada.mnist.1.28") {
    buildJob { uniqueName commit dockerfile experimentCount nodeScheduled { name osImage kernelVersion } }
    outputFiles { folders { name } files { name } }
    checkpoints: outputFiles(path: "checkpoints") { files { name } }
  }
}`;

interface Named {
  readonly name: string;
}
interface Expected {
  readonly experiment: {
    readonly buildJob: {
      readonly uniqueName: string;
      readonly commit: string;
      readonly dockerfile: string;
      readonly experimentCount: number;
      readonly nodeScheduled: Named & { readonly osImage: string; readonly kernelVersion: string };
    };
    readonly outputFiles: { readonly folders: readonly Named[]; readonly files: readonly Named[] };
    readonly checkpoints: { readonly files: readonly Named[] };
  };
}

test.runIf(hasBrowser)("a run's graph leads to build job, then machine, and back", async () => {
  const { page, graph, ask, calls, complaints } = await openAt(RUN);
  const { data } = await ask<Expected, never>(EXPECTED);
  const { uniqueName, commit, dockerfile, experimentCount, nodeScheduled } = data.experiment.buildJob;
  await graph.getByRole("link", { name: `build job ${uniqueName}` }).waitFor();
  // The list reads the builds of its images, too.
  await page.getByRole("table").waitFor();
  await allThere(page);
  calls();

  await graph.getByRole("link", { name: `build job ${uniqueName}` }).click();
  await page.getByRole("definition").getByText(commit).waitFor();
  expect(calls().filter((call) => call.includes("builds"))).toEqual([
    `GET ada/mnist/builds/${uniqueName.split(".").at(-1)}/`,
  ]);
  expect(await page.getByRole("region", { name: "Dockerfile" }).innerText()).toBe(dockerfile.trimEnd());
  await page.getByText(`${experimentCount} runs`).waitFor();
  await page.getByText("Runs of this image").click();
  await expect.poll(() => page.locator(".used-by").getByRole("link").count(), SHOWN).toBe(experimentCount);
  expect(calls().filter((call) => call.includes("query=build"))).toHaveLength(1);

  await page.getByRole("link", { name: nodeScheduled.name }).click();
  await page.getByRole("definition").getByText(nodeScheduled.kernelVersion).waitFor();
  await page.getByRole("definition").getByText(nodeScheduled.osImage).waitFor();
  expect(await page.title()).toBe(`${nodeScheduled.name} – Runs`);
  await page.goBack();
  await page.getByRole("heading", { name: uniqueName }).waitFor();
  await page.goBack();
  await graph.waitFor();
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("output folders are read when opened, and files are saved unchanged", async () => {
  const { page, ask, calls, demo, complaints } = await openAt(RUN);
  const { data } = await ask<Expected, never>(EXPECTED);
  const { outputFiles, checkpoints } = data.experiment;
  await page.getByRole("link", { name: "Output files" }).click();
  const names = () => page.locator(".file > :first-child").allInnerTexts();
  const folder = page.getByRole("button", { name: "checkpoints/", exact: true });
  await folder.waitFor();
  expect(await names()).toEqual(outputFiles.files.map(({ name }) => name));
  calls();
  await folder.press("Enter");
  await page.getByText(checkpoints.files[0]?.name ?? "", { exact: true }).waitFor();
  expect(calls().filter((call) => call.includes("tree"))).toEqual([
    "GET ada/mnist/experiments/28/outputs/tree?path=checkpoints",
  ]);
  expect((await names()).toSorted()).toEqual(
    [...outputFiles.files, ...checkpoints.files].map(({ name }) => name).toSorted(),
  );

  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download README.txt" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe("README.txt");
  const response = await fetch(`${demo.url}/api/v1/ada/mnist/experiments/28/outputs/files?path=README.txt`, {
    headers: { authorization: `token ${demo.users[0]?.token}` },
  });
  expect(await readFile(await saved.path(), "utf8")).toBe(await response.text());

  await folder.press("Enter");
  expect(await names()).toEqual(outputFiles.files.map(({ name }) => name));
  await page.getByRole("link", { name: "ada.mnist.1.28" }).click();
  await page.getByRole("heading", { name: "ada.mnist.1.28" }).waitFor();
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("the graph fits a phone, and every node is a link", async () => {
  const { graph, picture } = await openAt(RUN, { viewport: PHONE });
  await graph.scrollIntoViewIfNeeded();
  // It is drawn anew once it knows how narrow it is.
  await graph.locator("svg[width='256']").first().waitFor();
  await picture("graph-phone");
  const box = await graph.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
  const links = graph.getByRole("link");
  expect(await links.count()).toBe(await graph.locator("rect").count());
  for (const link of await links.all()) expect(await link.getAttribute("href")).toMatch(/^#list=ada\.mnist/);
});

test.runIf(hasBrowser)("a missing record is reported on its page", async () => {
  const { page, address } = await openAt("#build=ada.mnist.builds.999");
  expect(await alertOf(page)).toBe("There is no such record. NOT_FOUND");
  await page.goto(`${address}#machine=nowhere`);
  await page.getByRole("heading", { name: "nowhere" }).waitFor();
  expect(await alertOf(page)).toBe("There is no such record. NOT_FOUND");
});

test.runIf(hasBrowser)("the page reports a server that lists no output files", async () => {
  const { page } = await openAt("#files=ada.mnist.42", {}, "polyaxon-0.2");
  expect(await alertOf(page)).toMatch(/CAPABILITY_UNAVAILABLE$/);
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
});

test.runIf(hasBrowser)("run, build, machine and file pages fit every size and mode", async () => {
  const opened = await openAt("#files=ada.mnist.1.28");
  const { page, address, ask, graph, complaints } = opened;
  await page.getByRole("button", { name: "checkpoints/", exact: true }).click();
  await page.locator("li li").first().waitFor();
  await looksWell(opened, "files");

  await page.goto(`${address}${RUN}`);
  await graph.waitFor();
  await page.getByRole("definition").getByText("wide-kernels").waitFor();
  await looksWell(opened, "run");

  const { data } = await ask<Expected, never>(EXPECTED);
  const { uniqueName, nodeScheduled } = data.experiment.buildJob;
  await page.goto(`${address}#list=ada.mnist.1&build=${uniqueName}`);
  await page.getByRole("region", { name: "Dockerfile" }).waitFor();
  await looksWell(opened, "build");

  await page.goto(`${address}#list=ada.mnist.1&machine=${nodeScheduled.name}`);
  await page.getByRole("definition").getByText(nodeScheduled.kernelVersion).waitFor();
  await looksWell(opened, "machine");
  expect(complaints).toEqual([]);
});

test.skipIf(!hasBrowser)("a project reads its groups only when they are opened", async () => {
  const { page, calls, complaints } = await openAt("#list=ada.mnist");
  await page.getByText("12 of 46 runs are loaded.", { exact: true }).waitFor();
  const lists = () => calls().filter((call) => call.includes("/groups?"));
  expect(lists()).toEqual([]);
  await page.getByText("Groups", { exact: true }).click();
  const group = page.getByRole("link").filter({ hasText: "Around the best corner" });
  await group.waitFor();
  expect(lists()).toEqual(["GET ada/mnist/groups?sort=-created_at%2C-updated_at&limit=20"]);
  await group.click();
  await page.getByRole("heading", { name: "ada.mnist.2" }).waitFor();
  expect(complaints).toEqual([]);
});
