import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { ERROR_CODES } from "../../src/errors.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { globalId } from "../support/ids.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";
import { subscribe } from "../support/subscriber.ts";

const FOLDER = new URL("../../deploy/monitoring/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}
interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

// Safe: Grafana and Prometheus have loaded these files.
const { panels, templating } = JSON.parse(read("dashboard.json")) as {
  panels: readonly Panel[];
  templating: { list: readonly { name: string; query: string | { query: string } }[] };
};
const alerts = parse(read("alerts.yaml")) as { groups: readonly { rules: readonly Rule[] }[] };
const rules = alerts.groups.flatMap((group) => group.rules);

/** Values of labels that this gateway does not come to have. */
const UNSEEN: Readonly<Record<string, readonly string[]>> = {
  code: Object.keys(ERROR_CODES),
  outcome: ["invalid", "429"],
};

/** Labels that Prometheus adds to what it scrapes. */
const TARGET_LABELS = ["job", "instance"];

/** Metrics of others, with their labels: of Prometheus itself, and of kube-state-metrics. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  up: [],
  kube_deployment_spec_replicas: ["namespace", "deployment"],
  kube_deployment_status_replicas_ready: ["namespace", "deployment"],
};

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right) ?\(([^)]*)\)/g;

/** The metrics that an expression of PromQL names, with what it matches their labels with, and the labels by which it groups. */
function readPromql(expression: string) {
  const named = expression.replaceAll(GROUPING, "").matchAll(/\b(up|[a-z]+_\w+)\b(?! ?\()(?:\{([^}]*)\})?/g);
  const metrics = [...named].map(([, name = "", matched = ""]) => ({
    name,
    matchers: [...matched.matchAll(/(\w+)([=!]~|!?=)"([^"]*)"/g)].map(
      ([, label = "", operator = "", value = ""]) => ({ label, operator, value }),
    ),
  }));
  return {
    metrics,
    grouping: [...expression.matchAll(GROUPING)].flatMap(([, labels = ""]) => labels.match(/\w+/g) ?? []),
  };
}

/** Replaces what Grafana replaces before it asks. */
const withVariables = (expression: string) =>
  expression.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:job|instance)\b/g, "any");

const variables = templating.list.flatMap(({ name, query }) => {
  const text = typeof query === "string" ? query : query.query;
  const [, selector, label = ""] = /^label_values\((.+), (\w+)\)$/.exec(text) ?? [];
  return selector ? [{ title: `variable ${name}`, expression: selector, labels: [label] }] : [];
});
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({
    title: `panel ${title}`,
    expression: expr,
    labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
  })),
);
const conditions = rules.map(({ alert, expr, annotations }) => ({
  title: `alert ${alert}`,
  expression: expr,
  labels: [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label),
}));
const all = [...variables, ...queries, ...conditions].map((each) => ({
  ...each,
  named: readPromql(withVariables(each.expression)),
}));

/** Runs some of everything, and reads the metrics. */
async function scrape(): Promise<string> {
  const { ask, url, demo } = await startDemoGateway({ env: { CACHE_TTL_MS: "60000" } });
  const token = demo.users[0]?.token ?? "";
  const run = `{ experiment(id: "ada.mnist.42") { status logsUrl } }`;
  await ask(run);
  const { data } = await ask(run);
  await ask(`{ experiment(id: "ada.mnist.4242") { status } }`);
  await ask("{ canary }");
  await ask(`mutation { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id } } }`);
  await ask("", undefined, { headers: { "content-type": "text/plain" } });
  const extensions = { persistedQuery: { version: 1, sha256Hash: "a".repeat(64) } };
  await sendTo(`${url}/graphql`, { headers: JSON_BODY, body: JSON.stringify({ extensions }) });
  const { experiment } = data as { experiment: { logsUrl: string } };
  await (await fetch(experiment.logsUrl, { headers: { authorization: `token ${token}` } })).text();
  const { next, leave } = await subscribe(url, {
    query: `subscription { runUpdated(id: "${globalId("Job:ada/mnist/2")}") { run { status } } }`,
    token,
  });
  await next();
  const text = await (await fetch(`${url}/metrics`)).text();
  leave();
  return text;
}

/** The names of the gateway's own metrics, and the labels of each sample with their values. */
let families: readonly string[] = [];
const samples = new Map<string, Map<string, Set<string>>>();

/** Reads them once for all tests. */
let reading: Promise<void> | undefined;
const readExposed = async () => {
  const text = await scrape();
  families = [...text.matchAll(/^# TYPE (rungraph_\w+)/gm)].map(([, name = ""]) => name);
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const values = samples.get(name) ?? new Map<string, Set<string>>();
    samples.set(name, values);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="([^"]*)"/g))
      values.set(label, (values.get(label) ?? new Set<string>()).add(value));
  }
};
const exposed = () => (reading ??= readExposed());

/** The values that a matcher names: `2xx`, or each side of `failed|invalid`. */
const valuesOf = ({ operator, value }: { operator: string; value: string }) =>
  operator.endsWith("~") ? value.split("|") : [value];

test.each(all)("$title names metrics, labels and values that the gateway exposes", async (each) => {
  await exposed();
  const { metrics, grouping } = each.named;
  expect(metrics).not.toEqual([]);
  expect(metrics.filter(({ name }) => !samples.has(name) && !FOREIGN[name])).toEqual([]);

  const labels = metrics.flatMap(({ name }) => [
    ...(samples.get(name)?.keys() ?? []),
    ...(FOREIGN[name] ?? []),
  ]);
  expect([...TARGET_LABELS, ...labels]).toEqual(expect.arrayContaining([...grouping, ...each.labels]));

  const unknown = metrics.flatMap(({ name, matchers }) =>
    matchers
      .filter(({ label }) => !TARGET_LABELS.includes(label) && !FOREIGN[name]?.includes(label))
      .filter((matcher) => {
        const seen = [...(samples.get(name)?.get(matcher.label) ?? []), ...(UNSEEN[matcher.label] ?? [])];
        const isSeen = (pattern: string) => seen.some((value) => new RegExp(`^(?:${pattern})$`).test(value));
        return !valuesOf(matcher).every(isSeen);
      }),
  );
  expect(unknown).toEqual([]);
});

test("every metric of the gateway is on the dashboard or in an alert", async () => {
  await exposed();
  const named = new Set(all.flatMap((each) => each.named.metrics.map(({ name }) => name)));
  const isNamed = (family: string) =>
    ["", "_bucket", "_sum", "_count"].some((suffix) => named.has(family + suffix));
  expect(families.length).toBeGreaterThan(20);
  expect(families.filter((family) => !isNamed(family))).toEqual([]);
});

test("operations fail, for an alert and on the dashboard, by the codes that are not the caller's doing", () => {
  const codes = Object.entries(ERROR_CODES);
  const serious = codes.filter(([, { status }]) => status >= 500).map(([code]) => code);
  const patterns = all
    .flatMap(({ named }) => named.metrics.flatMap(({ matchers }) => matchers))
    .filter(({ label, operator }) => label === "code" && operator === "=~")
    .map(({ value }) => value);
  expect(patterns.length).toBeGreaterThan(1);
  for (const pattern of patterns) {
    const matching = codes.map(([code]) => code).filter((code) => new RegExp(`^(?:${pattern})$`).test(code));
    expect(matching).toEqual(serious);
  }
});

test("the codes of whose increase an alert warns are 0 before the first one: Prometheus would not see it otherwise", async () => {
  const codes = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/increase\(rungraph_operations_total\{code="(\w+)"\}/g)].map(([, code]) => code),
  );
  expect(codes).toEqual(["INTERNAL_SERVER_ERROR", "SERVICE_OVERLOADED"]);
  const { url } = await startDemoGateway();
  const text = await (await fetch(new URL("/metrics", url))).text();
  for (const code of codes)
    for (const type of ["query", "mutation", "subscription", "invalid", "unread"])
      expect(text).toContain(`rungraph_operations_total{type="${type}",code="${code}"} 0\n`);
});

test("the Prometheus Operator gets the same alerts (vitest --update)", async () => {
  const rule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "rungraph", labels: { "app.kubernetes.io/name": "rungraph" } },
    spec: alerts,
  };
  const text = `# The alerts of alerts.yaml; npx vitest run test/deploy --update writes them anew.\n${stringify(rule, { lineWidth: 0 })}`;
  await expect(text).toMatchFileSnapshot(fileURLToPath(new URL("prometheus-rule.yaml", FOLDER)));
});
