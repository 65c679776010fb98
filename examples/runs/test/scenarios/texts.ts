import { expect, test } from "vitest";
import { hasBrowser, SHOWN } from "../../../../test/support/browser.ts";
import { looksWell } from "../axe.ts";
import { openAt } from "../open-at.ts";
import { PHONE } from "../page.ts";

const LONG = "a_metric_whose_name_somebody_made_of_the_path_of_its_file_in_the_repository";

/** A run with values of any size, and texts of any length. */
const ODD = `mutation ($id: ID!, $text: String!, $tiny: [MetricValueInput!]!) {
  updateExperiment(id: $id, input: { description: $text, addTags: [$text] }) { experiment { id } }
  one: createExperimentMetrics(id: $id, records: [{ values: $tiny }]) { results { outcome } }
  two: createExperimentMetrics(id: $id, records: [{ values: $tiny }]) { results { outcome } }
}`;

const VALUES = [
  { name: "tiny", value: 1.25e-6 },
  { name: "huge", value: 7.5e12 },
  { name: LONG, value: 0.5 },
];

const RUN = { id: "ada.mnist.1.10", text: "x".repeat(200), tiny: VALUES };

/** Collects what is written onto canvases. */
const COLLECT = `(() => {
  const written = (globalThis.written = []);
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    written.push(text);
    return fillText.call(this, text, ...rest);
  };
})()`;

test.runIf(hasBrowser)("a metric is formatted alike in table, chart and comparison", async () => {
  const { page, ask, complaints } = await openAt("");
  await ask(ODD, RUN);
  await page.addInitScript(COLLECT);
  await page.reload();
  const origin = page.url();
  const line = page.getByRole("row", { name: "ada.mnist.1.10" });
  await page.goto(`${origin}#list=ada.mnist.1&run=ada.mnist.1.10&sort=loss`);
  await line.getByText("1.250e-6", { exact: true }).waitFor();
  await line.getByText("7.500e+12", { exact: true }).waitFor();
  await page.getByText(/^1\.250e-6 at/).waitFor();
  await page.getByText(/^7\.500e\+12 at/).waitFor();
  await page.getByRole("img", { name: "tiny over time" }).waitFor();
  const written = () => page.evaluate<string[]>("written");
  // Ticks tell their values: none is rounded to nothing, and none is wider than its axis.
  const small = async () => (await written()).filter((text) => /^\d(?:\.\d+)?e-\d$/.test(text));
  await expect.poll(async () => (await small()).length, SHOWN).toBeGreaterThan(1);
  expect((await written()).filter((text) => text.length > 8)).toEqual([]);

  await page.goto(`${origin}#list=ada.mnist.1&compare=ada.mnist.1.10,ada.mnist.1.15`);
  await page.getByRole("cell", { name: "1.250e-6" }).waitFor();
  await page.getByRole("cell", { name: "7.500e+12" }).waitFor();
  expect(complaints).toEqual([]);
});

test.runIf(hasBrowser)("texts of any length fit the page in every size and mode", async () => {
  const opened = await openAt("");
  const { page, ask, graph } = opened;
  await ask(ODD, RUN);
  const { data } = await ask<{ restartExperiment: { experiment: { uniqueName: string } } }, object>(
    `mutation ($id: ID!, $parameters: [ParameterInput!]) { restartExperiment(id: $id, input: { parameters: $parameters }) {
        experiment { uniqueName } } }`,
    {
      id: RUN.id,
      parameters: [
        { name: LONG, value: `runs/${"y".repeat(120)}` },
        { name: "lr", value: 0.1 },
      ],
    },
  );
  const { uniqueName } = data.restartExperiment.experiment;
  const origin = page.url();
  await page.goto(`${origin}#list=ada.mnist&run=${RUN.id}&sort=loss`);
  await graph.waitFor();
  await page.getByText(/^1\.250e-6 at/).waitFor();
  await looksWell(opened, "texts-run");
  await page.goto(`${origin}#compare=${RUN.id},${uniqueName}`);
  await page.getByRole("heading", { name: "What differs" }).waitFor();
  await page.getByRole("img", { name: `${LONG} over steps` }).waitFor();
  await looksWell(opened, "texts-compare");
  await page.goto(`${origin}#list=ada.mnist&run=${uniqueName}`);
  await graph.waitFor();
  await looksWell(opened, "texts-parameters");
  await page.getByRole("button", { name: "Restart" }).click();
  await page.setViewportSize(PHONE);
  const question = page.getByRole("dialog");
  const { width = 0 } = (await question.boundingBox()) ?? {};
  expect((await question.getByLabel(LONG).boundingBox())?.width).toBeLessThan(width);
});
