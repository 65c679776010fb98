import { InputError } from "../../errors.ts";
import type { ListRequest } from "../../rest/api/list-query.ts";
import type { MetricDirection, Order } from "../../rest/api/profile.ts";
import { builder } from "../core/builder.ts";

/* Orders of lists of runs. */

export const OrderDirection = builder.enumType("OrderDirection", {
  description: "Direction of an order.",
  values: {
    ASC: { description: "Smallest or earliest first." },
    DESC: { description: "Largest or latest first." },
  } satisfies Record<MetricDirection, object>,
});

/** The values are the fields of `Order`. */
const RunOrderField = builder.enumType("RunOrderField", {
  description:
    "A time by which runs are ordered. Known servers sort a run without it as the latest: first by `DESC`, last by `ASC`.",
  values: {
    CREATED_AT: { value: "CREATED", description: "Creation." },
    UPDATED_AT: { value: "UPDATED", description: "Last change." },
    STARTED_AT: { value: "STARTED", description: "Start." },
    FINISHED_AT: { value: "FINISHED", description: "End." },
  } as const,
});

export const RunOrder = builder.inputType("RunOrder", {
  description: "An order by either `field` or `metric`.",
  fields: (t) => ({
    field: t.field({ type: RunOrderField, description: "A time." }),
    metric: t.string({
      description:
        "Name of a metric: letters, digits, single `_`. Its latest values are compared. Experiments without it come last by `ASC` and are omitted by `DESC`. Requires `METRIC_ORDERS`.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: "DESC",
      description: "Direction.",
    }),
  }),
});

/** The order that the arguments ask for, if any. Throws `InputError` when they ask for none or two. */
export function orderOf(
  order: typeof RunOrder.$inferInput | null | undefined,
): Pick<ListRequest, "order" | "metricOrder"> {
  if (!order) return {};
  const { field, metric, direction } = order;
  if (field != null && metric == null) return { order: `${field}_${direction}` satisfies Order };
  if (metric != null && field == null) return { metricOrder: { name: metric, direction } };
  throw new InputError(
    `order: expected \`field\` or \`metric\`, such as {field: CREATED_AT, direction: DESC}, got ${field == null ? "none" : "both"}`,
  );
}
