import * as z from "zod";
import { FILTER_LANGUAGES } from "./filter-language.ts";
import { maxItems, parameter, query, section, textOf } from "./profile-section.ts";

/* The sections of a profile that describe lists: their pages, orders and filters. */

export const Paging = z.discriminatedUnion(
  "by",
  [
    section({
      by: z.literal("link"),
      parameters: z
        .record(parameter, z.enum(["size", "offset", "page", "cursor"]))
        .describe("The parameters that are taken of a link, and what each tells."),
    }).describe("Each page has a link to the next one."),
    section({
      by: z.literal("offset"),
      parameter: parameter.describe("Takes how many items to skip."),
      size: parameter
        .nullable()
        .default(null)
        .describe("Takes how many items a page shall have; null where nothing does."),
      maxSize: maxItems
        .nullable()
        .default(null)
        .describe("Most items that a page can have; null: any number."),
    }).describe("Places are counted in items."),
  ],
  {
    error: ({ code }) =>
      code === "invalid_union" ? "expected link or offset" : "expected an object with the key by",
  },
);

const order = query
  .nullable()
  .describe("The query parameters that ask for this order; null where the server has none such.");

export const Orders = section({
  UPDATED_DESC: order,
  UPDATED_ASC: order,
  CREATED_DESC: order,
  CREATED_ASC: order,
  STARTED_DESC: order,
  STARTED_ASC: order,
  FINISHED_DESC: order,
  FINISHED_ASC: order,
});

const metricOrder = query
  .refine((parameters) => Object.values(parameters).some((value) => value.includes("{metric}")), {
    error: "expected {metric} in the value of a parameter",
  })
  .nullable()
  .describe(
    "The query parameters that ask for this order of experiments: {metric} stands for the name of the metric. Null where the server has none such.",
  );

export const MetricOrders = section({ ASC: metricOrder, DESC: metricOrder });

const Ids = section({
  parameter: parameter.describe("Takes the filter."),
  value: textOf(/^(?:(?!\{ids\})[^])*\{ids\}(?:(?!\{ids\})[^])*$/, "text with {ids} in it once").describe(
    "The filter: {ids} stands for the ids.",
  ),
  separator: textOf(/^.+$/s, "text").describe("Stands between two ids."),
  max: maxItems.describe("Most ids of one filter."),
});

export const Filters = section({
  query: parameter
    .nullable()
    .describe("Takes a filter in the server's own language; null where nothing does."),
  language: z
    .enum(FILTER_LANGUAGES)
    .nullable()
    .describe("The language of these filters, where the gateway can write it; null where it cannot."),
  group: parameter
    .nullable()
    .describe("Takes the id of a group, whose experiments are listed; null where nothing does."),
  ids: Ids.nullable().describe("How lists of runs are filtered by ids; null where they cannot be."),
});
