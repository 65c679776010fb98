import * as z from "zod";
import { tryTo } from "../../errors.ts";
import { isObject, mapped } from "./record.ts";
import { type AnyEndpoint, overrideIssue, spellingOf } from "./endpoint.ts";
import { recordKinds, runKinds, sections } from "./kinds.ts";

/*
 * The format of profiles, which describe servers. Built-in profiles and the file that `UPSTREAM_PROFILE` names have this format. Its
 * published JSON Schema, including the descriptions, is generated from here.
 */

/** A strict object, with our own error messages. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) =>
      code === "unrecognized_keys" ? `expected only ${Object.keys(shape).join(", ")}` : "expected an object",
  });

/** A string that matches `form`. `expected` completes the error message. */
const textOf = (form: RegExp, expected: string) =>
  z.string({ error: `expected ${expected}` }).regex(form, { error: `expected ${expected}` });

const parameter = textOf(/^[\w.[\]-]{1,100}$/, "the name of a query parameter");
const query = z.record(parameter, z.string({ error: "expected text" }), {
  error: "expected query parameters and their values",
});
const count = z
  .int({ error: "expected a whole number above 0" })
  .positive({ error: "expected a whole number above 0" });

const overrideOf = (endpoint: AnyEndpoint) =>
  z
    .string({ error: "expected a method and a path, or null" })
    .superRefine((spelling, context) => {
      const issue = overrideIssue(endpoint, spelling);
      if (issue) context.addIssue({ code: "custom", message: issue, input: spelling });
    })
    .nullable()
    .optional()
    .describe(spellingOf(endpoint));

const overridesOf = (table: Readonly<Record<string, AnyEndpoint>>) =>
  section(mapped(table, overrideOf)).optional();

const Endpoints = section(mapped(sections, overridesOf));

const TimeZone = z
  .string({ error: "expected the name of a time zone, or null" })
  .refine((name) => tryTo(() => new Intl.DateTimeFormat("en", { timeZone: name })) !== undefined, {
    error: "expected the name of a time zone such as Europe/Berlin or UTC",
  })
  .nullable();

const Authorization = section({
  scheme: textOf(/^[A-Za-z][\w-]*$/, "one word such as token or Bearer").describe(
    "The word before the token in the Authorization header.",
  ),
});

/* The part of a profile that describes lists: their pages, orders and filters. */

const Paging = z.discriminatedUnion(
  "by",
  [
    section({
      by: z.literal("link"),
      parameters: z
        .record(parameter, z.enum(["size", "offset", "page", "cursor"]))
        .describe("The parameters that are taken from a link, with the meaning of each."),
    }).describe("Each page has a link to the next one."),
    section({
      by: z.literal("offset"),
      parameter: parameter.describe("Parameter for the number of items to skip."),
      size: parameter
        .nullable()
        .default(null)
        .describe("Parameter for the number of items of a page; null if there is none."),
      maxSize: count
        .nullable()
        .default(null)
        .describe("Maximum number of items of a page; null if there is none."),
    }).describe("A position is a number of items."),
  ],
  {
    error: ({ code }) =>
      code === "invalid_union" ? "expected link or offset" : "expected an object with the key by",
  },
);

const order = query
  .nullable()
  .describe("The query parameters of this order; null if the server does not have it.");

export const Orders = section({
  DEFAULT: order.describe(
    "The query parameters of a list without `order`: the server's default order, with a second key if the server has no fixed order of equal values. With null, none are sent.",
  ),
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
    "The query parameters of this order of experiments: {metric} stands for the name of the metric. Null if the server does not have it.",
  );

const MetricOrders = section({ ASC: metricOrder, DESC: metricOrder });

const Ids = section({
  parameter: parameter.describe("Parameter for the filter."),
  value: textOf(/^(?:(?!\{ids\})[^])*\{ids\}(?:(?!\{ids\})[^])*$/, "text with {ids} in it once").describe(
    "The filter: {ids} stands for the ids.",
  ),
  separator: textOf(/^.+$/s, "text").describe("Separator between two ids."),
  max: count.describe("Maximum number of ids in one filter."),
});

const Filters = section({
  query: parameter
    .nullable()
    .describe("Parameter for a filter in the server's own language; null if there is none."),
  language: z
    .enum(["polyaxon"])
    .nullable()
    .describe("The language of these filters if the gateway can write it; otherwise null."),
  group: parameter
    .nullable()
    .describe("Parameter for the id of a group, whose experiments are listed; null if there is none."),
  ids: Ids.nullable().describe(
    "How lists of runs are filtered by ids; null if the server cannot filter by ids.",
  ),
});

const keysOf = (kinds: typeof recordKinds) =>
  section(Object.fromEntries(kinds.map(({ records, keys }) => [records, z.array(z.enum(keys))])));

const OmittedInLists = keysOf(runKinds);
const Omitted = keysOf(recordKinds);

const bodyKey = textOf(/^[\w-]+(?:\.[\w-]+)*$/, "a key of the body, such as name or config.declarations")
  .nullable()
  .describe("Key of the body, with dots between nested keys; null if the server does not accept it.");

const endpointNames = Object.entries(sections).flatMap(([name, table]) =>
  Object.keys(table).map((endpoint) => `${name}.${endpoint}`),
);

const RateLimits = z.array(
  section({
    endpoints: z
      .array(z.enum(endpointNames))
      .min(1)
      .optional()
      .describe("The endpoints that it counts. Without them: all that no other limit counts."),
    requests: count.describe("Maximum number of requests in the period."),
    seconds: count.max(3_600).describe("The period in seconds."),
  }),
);

const Inputs = section({
  update: section({ description: bodyKey, name: bodyKey, tags: bodyKey, readme: bodyKey }),
  restart: section({ description: bodyKey, parameters: bodyKey, updateCode: bodyKey }),
  createExperiment: section({ group: bodyKey }),
  createJob: section({ tags: bodyKey }),
  createGroup: section({ experiments: bodyKey }),
  createBuild: section({
    section: z
      .string({ error: "expected a key, or null" })
      .nullable()
      .describe("Key of the specification under which the image stands; null: the image is at the top."),
  }),
});

/** A complete description of a server: the sections of `WrittenProfile`. */
export interface Profile {
  readonly basePath: string;
  readonly apiVersion: string;
  readonly timeZone: z.output<typeof TimeZone>;
  readonly authorization: z.output<typeof Authorization>;
  readonly endpoints: z.output<typeof Endpoints>;
  readonly paging: z.output<typeof Paging>;
  readonly orders: z.output<typeof Orders>;
  readonly metricOrders: z.output<typeof MetricOrders>;
  readonly filters: z.output<typeof Filters>;
  readonly omittedInLists: z.output<typeof OmittedInLists>;
  readonly omitted: z.output<typeof Omitted>;
  readonly rateLimits: z.output<typeof RateLimits>;
  readonly inputs: z.output<typeof Inputs>;
}
export type Paging = Profile["paging"];
export type Order = keyof Profile["orders"];
export type MetricDirection = keyof Profile["metricOrders"];

export const PROFILE_NAMES = ["document", "polyaxon-0.2", "polyaxon-0.4"] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/** A profile as written: the differences from the profile that it extends. */
export const WrittenProfile = section({
  $schema: z.string().optional().describe("The JSON Schema of this file, for editors."),
  extends: z
    .enum(PROFILE_NAMES)
    .optional()
    .describe("The profile that defines everything that this file does not define. Default: document."),
  basePath: textOf(/^(?:\/[\w~-][\w.~-]*)*\/?$/, "a path such as /api/v1, without query and fragment")
    .optional()
    .describe("What comes before the path of every endpoint."),
  apiVersion: textOf(/^\S{1,50}$/, "a version such as v1")
    .optional()
    .describe("What `gateway.upstreamApiVersion` answers."),
  timeZone: TimeZone.optional().describe(
    "The server's time zone, in which the days of its filters begin; null if it is not known.",
  ),
  authorization: Authorization.partial().optional(),
  endpoints: Endpoints.optional().describe(
    "Endpoints that are spelled differently, as method and path, or that the server does not have: null.",
  ),
  paging: Paging.optional().describe("How the next page of a list is requested."),
  orders: Orders.partial().optional().describe("How lists of runs are ordered."),
  metricOrders: MetricOrders.partial()
    .optional()
    .describe("How lists of experiments are ordered by the last value of a metric."),
  filters: Filters.partial().optional().describe("How lists of runs are filtered."),
  omittedInLists: OmittedInLists.partial()
    .optional()
    .describe("Keys of a run that items of lists lack. They are loaded when they are needed."),
  omitted: Omitted.partial()
    .optional()
    .describe("Keys that no record of a kind has. They are null, without a request."),
  rateLimits: RateLimits.optional().describe(
    "How many requests of one user the server answers in a period. `UPSTREAM_RATE_LIMIT` replaces the one without endpoints; `off` all of them.",
  ),
  inputs: section({
    update: Inputs.shape.update.partial().optional(),
    restart: Inputs.shape.restart.partial().optional(),
    createExperiment: Inputs.shape.createExperiment.partial().optional(),
    createJob: Inputs.shape.createJob.partial().optional(),
    createGroup: Inputs.shape.createGroup.partial().optional(),
    createBuild: Inputs.shape.createBuild.partial().optional(),
  })
    .optional()
    .describe("The keys of bodies for the inputs of commands; null if the server ignores one."),
});
export type WrittenProfile = z.input<typeof WrittenProfile>;

/** The number of levels at which a section is merged with the inherited one; by default 1. With 0 it replaces the inherited one. */
const DEPTHS: { readonly [Name in keyof Profile]?: number } = { endpoints: 2, inputs: 2, paging: 0 };

export const extend = (base: Profile, written: z.output<typeof WrittenProfile>): Profile =>
  // Safe: a merged section has the keys of both, with their types.
  mapped({ ...base }, (value, name) => merge(value, written[name], DEPTHS[name] ?? 1)) as Profile;

function merge(base: unknown, written: unknown, depth: number): unknown {
  if (written === undefined) return base;
  if (depth === 0 || !isObject(base) || !isObject(written)) return written;
  return { ...base, ...mapped(written, (value, name) => merge(base[name], value, depth - 1)) };
}

export function contradictionIn({ filters, rateLimits }: Profile): string | null {
  if (filters.language !== null && filters.query === null)
    return "filters.query: expected the name of a query parameter, since filters.language is named, got null";
  const counted = rateLimits.flatMap(({ endpoints = ["those of no other limit"] }) => endpoints);
  const twice = counted.find((name, index) => counted.indexOf(name) < index);
  return twice === undefined
    ? null
    : `rateLimits: expected one limit for each endpoint, got two for ${twice}`;
}
