import { expect, test } from "vitest";
import { startDemoGateway } from "../../../../test/support/demo-gateway.ts";
import { hasBrowser } from "../../../../test/support/browser.ts";
import { open, signIn } from "../page.ts";

test.runIf(hasBrowser)("a failed run shows the reason, with the traceback of its code", async () => {
  const { url, calls } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const { page, row } = await open(url);
  await signIn(page, "ada");
  await page.getByRole("link", { name: "ada.mnist.1" }).click();
  await row("ada.mnist.1.28").click();
  await page.getByRole("definition").getByText("wide-kernels").waitFor();
  expect(calls().filter((call) => call.includes("statuses"))).toEqual([]);

  await row("ada.mnist.1.27").click();
  const why = page.getByRole("region", { name: "Why it failed" });
  await why
    .getByText(/^RuntimeError: CUDA out of memory/)
    .first()
    .waitFor();
  await why.getByText("Traceback", { exact: true }).click();
  expect(await why.locator("pre").innerText()).toMatch(/^Traceback \(most recent call last\):\n/);
  expect(await page.getByRole("definition").filter({ hasText: "wide-kernels" }).innerText()).toMatch(
    /^wide-kernels [0-9a-f]{8} with uncommitted changes$/,
  );
  expect(calls().filter((call) => call.includes("statuses"))).toEqual([
    "GET ada/mnist/experiments/27/statuses?limit=100",
  ]);
});

test.runIf(hasBrowser)("a run shows which run it was restarted or copied from", async () => {
  const { url } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const { page, address } = await open(url);
  await page.goto(`${address}#list=ada.mnist&run=ada.mnist.42`);
  await signIn(page, "ada");
  await page.getByRole("term").getByText("restarted from").waitFor();
  await page.getByRole("definition").getByRole("link", { name: "ada.mnist.37" }).click();
  await page.getByRole("term").getByText("copied from").waitFor();
  expect(await page.getByRole("definition").getByRole("link").allInnerTexts()).toEqual([
    "ada.mnist.4",
    "ada.mnist.builds.2",
  ]);
});

test.runIf(hasBrowser)("shows no code and no error where the server lacks code references", async () => {
  const { url, calls } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
  const { page, address, graph } = await open(url);
  await page.goto(`${address}#list=ada.mnist&run=ada.mnist.42`);
  await signIn(page, "ada");
  await graph.waitFor();
  // What is asked with the graph has been asked by then.
  await page.getByText("live", { exact: true }).waitFor();
  expect(await page.getByRole("term").getByText("code", { exact: true }).count()).toBe(0);
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(calls().filter((call) => call.includes("coderef"))).toEqual([]);
});
