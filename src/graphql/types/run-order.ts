import { InputError } from "../../errors.ts";
import type { ListRequest } from "../../rest/api/list-query.ts";
import type { MetricDirection, Order } from "../../rest/api/profile.ts";
import { builder } from "../core/builder.ts";

/* Orders of lists of runs. */

export const RunOrder = builder.enumType("RunOrder", {
  description:
    "Order of a list of runs. Where the server does not have it, the list is null with the code `CAPABILITY_UNAVAILABLE`.",
  values: {
    UPDATED_DESC: { description: "Newest change first." },
    UPDATED_ASC: { description: "Oldest change first." },
    CREATED_DESC: { description: "Newest first." },
    CREATED_ASC: { description: "Oldest first." },
    STARTED_DESC: {
      description: "Latest start first. Known servers put runs that have not started before all others.",
    },
    STARTED_ASC: { description: "Earliest start first. Runs that have not started come last." },
    FINISHED_DESC: {
      description: "Latest end first. Known servers put runs that have not ended before all others.",
    },
    FINISHED_ASC: { description: "Earliest end first. Runs that have not ended come last." },
  } satisfies Record<Order, object>,
});

export const OrderDirection = builder.enumType("OrderDirection", {
  description: "Direction of an order.",
  values: {
    ASC: { description: "Smallest value first." },
    DESC: { description: "Largest value first." },
  } satisfies Record<MetricDirection, object>,
});

export const MetricOrder = builder.inputType("MetricOrder", {
  description:
    "Order of experiments by the last value of a metric, those with equal values by their creation, newest first, where the server takes a second key.",
  fields: (t) => ({
    name: t.string({
      required: true,
      description:
        "Name of the metric: letters, digits and single `_` in between. Not that of a column of the server, such as `id`, `name` or `tags`.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      description:
        "Direction. Largest value first, experiments without the metric are left out; smallest value first, they come last.",
    }),
  }),
});

type OrderField = Order extends `${infer Field}_${MetricDirection}` ? Field : never;

const RunOrderField = builder.enumType("RunOrderField", {
  description: "What a list of runs is ordered by.",
  values: {
    UPDATED: { description: "Time of the last change." },
    CREATED: { description: "Time of creation." },
    STARTED: {
      description:
        "Time of the start. Known servers take runs that have not started for the latest: they come first by `DESC`, and last by `ASC`.",
    },
    FINISHED: {
      description:
        "Time of the end. Known servers take runs that have not ended for the latest: they come first by `DESC`, and last by `ASC`.",
    },
  } satisfies Record<OrderField, object>,
});

export const RunOrdering = builder.inputType("RunOrdering", {
  description: "Order of a list of runs: by `field` or by `metric`, exactly one of the two.",
  fields: (t) => ({
    field: t.field({ type: RunOrderField, description: "A date of the runs." }),
    metric: t.string({
      description:
        "Name of a metric of experiments: letters, digits and single `_` in between. Not that of a column of the server, such as `id`, `name` or `tags`. Runs with equal values are ordered by their creation, newest first, where the server takes a second key. Requires the capability `METRIC_ORDERS`.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: "DESC",
      description:
        "Direction. The default begins with the latest date or the largest value. With the largest value first, experiments without the metric are left out; with the smallest first, they come last, and are the first ones if no experiment has it.",
    }),
  }),
});

export interface OrderArgs {
  readonly order?: typeof RunOrdering.$inferInput | null | undefined;
  readonly orderBy?: Order | null | undefined;
  readonly orderByMetric?: ListRequest["metricOrder"];
}

/** The order that the arguments ask for, if any. Throws `InputError` when they ask for several. */
export function orderOf({
  order,
  orderBy,
  orderByMetric,
}: OrderArgs): Pick<ListRequest, "order" | "metricOrder"> {
  if (orderBy && orderByMetric)
    throw new InputError("orderByMetric: expected `orderBy` or `orderByMetric`, got both");
  if (!order) return { order: orderBy, metricOrder: orderByMetric };
  if (orderBy || orderByMetric)
    throw new InputError("order: expected `order` alone, got `orderBy` or `orderByMetric` as well");
  const { field, metric, direction } = order;
  if ((field == null) === (metric == null)) {
    throw new InputError(
      `order: expected \`field\` or \`metric\`, such as {field: CREATED, direction: DESC}, got ${field == null ? "none" : "both"}`,
    );
  }
  if (field != null) return { order: `${field}_${direction}` };
  return { metricOrder: { name: metric ?? "", direction, argument: "order.metric" } };
}
