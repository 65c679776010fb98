import { parser } from "@prometheus-io/lezer-promql";
import type { SyntaxNode } from "@lezer/common";

export interface Matcher {
  readonly label: string;
  /** `=`, `!=`, `=~` or `!~`. */
  readonly operator: string;
  readonly value: string;
}

/** What an expression of PromQL names. */
export interface Named {
  readonly metrics: readonly { readonly name: string; readonly matchers: readonly Matcher[] }[];
  /** The labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly grouping: readonly string[];
}

/** Parses PromQL as Prometheus' own editor does. Throws at the place that is no PromQL. */
export function readPromql(expression: string): Named {
  const textOf = ({ from, to }: { from: number; to: number }) => expression.slice(from, to);
  const metrics: Named["metrics"][number][] = [];
  const grouping: string[] = [];
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError) {
        throw new SyntaxError(`expected PromQL, got ${JSON.stringify(expression.slice(node.from))}`);
      }
      if (node.name === "VectorSelector") metrics.push(selectorOf(node.node));
      if (node.name === "GroupingLabels") grouping.push(...node.node.getChildren("LabelName").map(textOf));
    },
  });
  return { metrics, grouping };

  function selectorOf(selector: SyntaxNode) {
    const name = selector.getChild("Identifier");
    const matchers = selector.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
    return { name: name ? textOf(name) : "", matchers: matchers.map(matcherOf) };
  }

  function matcherOf(matcher: SyntaxNode): Matcher {
    const [label, operator, value] = ["LabelName", "MatchOp", "StringLiteral"].map((kind) => {
      const child = matcher.getChild(kind);
      return child ? textOf(child) : "";
    });
    return { label: label ?? "", operator: operator ?? "", value: (value ?? "").slice(1, -1) };
  }
}
