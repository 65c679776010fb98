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

// Safe: Grafana and Prometheus have loaded these files.
const { panels, templating } = JSON.parse(read("dashboard.json")) as {
  panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
  templating: { list: readonly { name: string; query: string | { query: string } }[] };
};
const alerts = parse(read("alerts.yaml")) as {
  groups: readonly { rules: readonly { alert: string; expr: string }[] }[];
};

/** Samples that this gateway does not come to have, and those of others: of Prometheus itself, and of kube-state-metrics. */
const OTHERS = [
  ...Object.keys(ERROR_CODES).map((code) => `rungraph_operations_total{code="${code}"} 0`),
  ...["invalid", "429"].map((outcome) => `rungraph_upstream_requests_total{outcome="${outcome}"} 0`),
  "up 1",
  `kube_deployment_spec_replicas{namespace="a",deployment="rungraph"} 1`,
  `kube_deployment_status_replicas_ready{namespace="a",deployment="rungraph"} 1`,
];

/** Labels that Prometheus adds to what it scrapes. */
const TARGET_LABELS = new Set(["job", "instance"]);

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right) ?\(([^)]*)\)/g;
const METRIC = /\b(up|[a-z]+_\w+)\b(?! ?\()(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)([=!]~|!?=)"([^"]*)"/g;

/** What an expression of PromQL names that is not in these samples: metrics, values of their labels, labels by which it groups. */
function unknownIn(expression: string, samples: readonly string[]): readonly string[] {
  // Grafana replaces the interval before it asks.
  const text = expression.replaceAll(GROUPING, "").replaceAll("$__rate_interval", "5m");
  const metrics = [...text.matchAll(METRIC)].map(([, name = "", matched = ""]) => ({
    name,
    matched,
    lines: samples.filter((line) => line.split(/[ {]/, 1)[0] === name),
  }));
  const labels = [...expression.matchAll(GROUPING)].flatMap(([, names = ""]) => names.match(/\w+/g) ?? []);
  return [
    ...(metrics.length === 0 ? ["no metric"] : []),
    ...metrics.filter(({ lines }) => lines.length === 0).map(({ name }) => name),
    ...metrics.flatMap(({ lines, matched }) =>
      [...matched.matchAll(MATCHER)].flatMap(([, label = "", operator = "", value = ""]) =>
        // `2xx`, or each side of `failed|invalid`.
        (operator.endsWith("~") ? value.split("|") : [value])
          .map((pattern) => `[{,]${label}="${pattern}"`)
          .filter((each) => !TARGET_LABELS.has(label) && !lines.some((line) => new RegExp(each).test(line))),
      ),
    ),
    ...labels.filter(
      (label) =>
        !TARGET_LABELS.has(label) &&
        !metrics.some(({ lines }) => lines.some((line) => line.includes(`${label}="`))),
    ),
  ];
}

const variables = templating.list.map(({ name, query }) => {
  const text = typeof query === "string" ? query : query.query;
  return [name, /^label_values\((.+), \w+\)$/.exec(text)?.[1]] as const;
});
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);
const conditions = alerts.groups.flatMap(({ rules }) =>
  rules.map(({ alert, expr }) => [alert, expr] as const),
);
const all = [...variables.filter(([, expr]) => expr), ...queries, ...conditions];

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
  const { logsUrl } = (data as { experiment: { logsUrl: string } }).experiment;
  await (await fetch(logsUrl, { headers: { authorization: `token ${token}` } })).text();
  const { next, leave } = await subscribe(url, {
    query: `subscription { runUpdated(id: "${globalId("Job:ada/mnist/2")}") { run { status } } }`,
    token,
  });
  await next();
  const text = await (await fetch(`${url}/metrics`)).text();
  leave();
  return text;
}

test("the dashboard and the alerts name metrics, labels and values that the gateway exposes", async () => {
  const samples = [...(await scrape()).split("\n"), ...OTHERS];
  expect(all.length).toBeGreaterThan(30);
  for (const [title, expression = ""] of all)
    expect({ title, unknown: unknownIn(expression, samples) }).toEqual({ title, unknown: [] });
});

test("operations fail, for an alert and on the dashboard, by the codes that are not the caller's doing", () => {
  const codes = Object.entries(ERROR_CODES);
  const serious = codes.filter(([, { status }]) => status >= 500).map(([code]) => code);
  const patterns = all.flatMap(([, text = ""]) => [...text.matchAll(/\bcode=~"([^"]*)"/g)]);
  expect(patterns.length).toBeGreaterThan(1);
  for (const [, pattern] of patterns)
    expect(codes.map(([code]) => code).filter((code) => new RegExp(`^(?:${pattern})$`).test(code))).toEqual(
      serious,
    );
});

test("the codes of whose increase an alert warns are 0 before the first one: Prometheus would not see it otherwise", async () => {
  const increase = /increase\(rungraph_operations_total\{code="(\w+)"\}/g;
  const codes = conditions.flatMap(([, text]) => [...text.matchAll(increase)].map(([, code]) => code));
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
