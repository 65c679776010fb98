import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { ERROR_CODES } from "../../src/errors.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";

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

/** Metrics of other exporters: Prometheus itself and kube-state-metrics. */
const OTHERS = ["up", "kube_deployment_spec_replicas", "kube_deployment_status_replicas_ready"];

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right) ?\(([^)]*)\)/g;
const METRIC = /\b(up|[a-z]+_\w+)\b(?! ?\()/g;

/** The metrics that an expression of PromQL names. */
const metricsIn = (expression: string): string[] =>
  expression
    .replaceAll(GROUPING, "")
    .replaceAll("$__rate_interval", "5m")
    .replaceAll(/\{[^}]*\}/g, "")
    .match(METRIC) ?? [];

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

test("the dashboard and the alerts name metrics that the gateway exposes", async () => {
  const { url } = await startDemoGateway();
  const text = await (await fetch(`${url}/metrics`)).text();
  const exposed = [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  expect(all.length).toBeGreaterThan(30);
  for (const [title, expression = ""] of all) {
    const named = metricsIn(expression);
    expect({ title, isNone: named.length === 0 }).toEqual({ title, isNone: false });
    expect([...OTHERS, ...exposed]).toEqual(expect.arrayContaining(named));
  }
});

test("the alerts and the dashboard count no failures that callers cause", () => {
  const codes = Object.entries(ERROR_CODES);
  const serious = codes.filter(([, { status }]) => status >= 500).map(([code]) => code);
  const patterns = all.flatMap(([, text = ""]) => [...text.matchAll(/\bcode=~"([^"]*)"/g)]);
  expect(patterns.length).toBeGreaterThan(1);
  for (const [, pattern] of patterns)
    expect(codes.map(([code]) => code).filter((code) => new RegExp(`^(?:${pattern})$`).test(code))).toEqual(
      serious,
    );
});

test("counters of error codes with an alert on increase start at 0", async () => {
  const increase = /increase\(rungraph_operations_total\{code="(\w+)"\}/g;
  const codes = conditions.flatMap(([, text]) => [...text.matchAll(increase)].map(([, code]) => code));
  expect(codes).toEqual(["INTERNAL_SERVER_ERROR", "SERVICE_OVERLOADED"]);
  const { url } = await startDemoGateway();
  const text = await (await fetch(new URL("/metrics", url))).text();
  for (const code of codes)
    for (const type of ["query", "mutation", "subscription", "invalid", "unread"])
      expect(text).toContain(`rungraph_operations_total{type="${type}",code="${code}"} 0\n`);
});

test("prometheus-rule.yaml contains the alerts of alerts.yaml (vitest --update)", async () => {
  const rule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "rungraph", labels: { "app.kubernetes.io/name": "rungraph" } },
    spec: alerts,
  };
  const text = `# The alerts of alerts.yaml; npx vitest run test/deploy --update writes them anew.\n${stringify(rule, { lineWidth: 0 })}`;
  await expect(text).toMatchFileSnapshot(fileURLToPath(new URL("prometheus-rule.yaml", FOLDER)));
});
