import * as z from "zod";
import { isObject } from "./record.ts";
import { type AnyEndpoint, overrideFault, spellingOf } from "./endpoint.ts";
import { recordKinds, runKinds, sections } from "./kinds.ts";
import { Filters, MetricOrders, Orders, Paging } from "./profile-lists.ts";
import { mapped, section, textOf } from "./profile-section.ts";

/*
 * The format of profiles, which describe servers. Built-in profiles and the files of `UPSTREAM_PROFILE` use it; its JSON
 * Schema is generated from here, descriptions included.
 */

/** An override of an endpoint, or null. */
const overrideOf = (endpoint: AnyEndpoint) =>
  z
    .string({ error: "expected a method and a path, or null" })
    .superRefine((spelling, context) => {
      const fault = overrideFault(endpoint, spelling);
      if (fault) context.addIssue({ code: "custom", message: fault, input: spelling });
    })
    .nullable()
    .optional()
    .describe(spellingOf(endpoint));

const overridesOf = (table: Readonly<Record<string, AnyEndpoint>>) =>
  section(mapped(table, overrideOf)).optional();

const Endpoints = section(mapped(sections, overridesOf));

const Authorization = section({
  scheme: textOf(/^[A-Za-z][\w-]*$/, "one word such as token or Bearer").describe(
    "The word before the token in the Authorization header.",
  ),
});

/** For each of these kinds, keys of its records. */
const keysOf = (kinds: typeof recordKinds) =>
  section(Object.fromEntries(kinds.map(({ records, keys }) => [records, z.array(z.enum(keys))])));

const OmittedInLists = keysOf(runKinds);
const Omitted = keysOf(recordKinds);

/** Where a body has a value. */
const place = textOf(/^[\w-]+(?:\.[\w-]+)*$/, "a key of the body, such as name or config.declarations")
  .nullable()
  .describe("Key of the body; dots lead into objects; null where the server does not take it.");

const RateLimit = section({
  requests: z.number().int().min(1).max(1_000_000).describe("Most requests."),
  seconds: z.number().int().min(1).max(3_600).describe("In how many seconds."),
}).nullable();

const Inputs = section({
  update: section({ description: place, name: place, tags: place, readme: place }),
  restart: section({ description: place, declarations: place, updateCode: place }),
});

const basePath = textOf(
  /^(?:\/[\w~-][\w.~-]*)*\/?$/,
  "a path such as /api/v1, without query and fragment",
).describe("What comes before the path of every endpoint.");
const apiVersion = textOf(/^\S{1,50}$/, "a version such as v1").describe(
  "What `gateway.upstreamApiVersion` answers.",
);

/** A complete description of a server. */
export interface Profile {
  readonly basePath: string;
  readonly apiVersion: string;
  readonly authorization: z.output<typeof Authorization>;
  /** Endpoints that differ from the document, that are missing (null), or that are additional (`optional`). */
  readonly endpoints: z.output<typeof Endpoints>;
  readonly paging: z.output<typeof Paging>;
  readonly orders: z.output<typeof Orders>;
  readonly metricOrders: z.output<typeof MetricOrders>;
  readonly filters: z.output<typeof Filters>;
  /** Keys that list items omit. Items are expected to have all others. */
  readonly omittedInLists: z.output<typeof OmittedInLists>;
  /** Keys that no record of a kind has. */
  readonly omitted: z.output<typeof Omitted>;
  /** How many requests of one user the server answers; null where that is not known. */
  readonly rateLimit: z.output<typeof RateLimit>;
  /** Where the bodies of commands have what they change. */
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
    .describe("What is not said here is said there. Default: document."),
  basePath: basePath.optional(),
  apiVersion: apiVersion.optional(),
  authorization: Authorization.partial().optional(),
  endpoints: Endpoints.optional().describe(
    "Endpoints that are spelled differently, as method and path, or that the server does not have: null.",
  ),
  paging: Paging.optional().describe("How the next page of a list is asked for."),
  orders: Orders.partial().optional().describe("How lists of runs are ordered."),
  metricOrders: MetricOrders.partial()
    .optional()
    .describe("How lists of experiments are ordered by the last value of a metric."),
  filters: Filters.partial().optional().describe("How lists of runs are filtered."),
  omittedInLists: OmittedInLists.partial()
    .optional()
    .describe("Keys of a run that items of lists lack. They are loaded when they are asked for."),
  omitted: Omitted.partial()
    .optional()
    .describe("Keys that no record of a kind has. They are null, without a request."),
  rateLimit: RateLimit.optional().describe(
    "How many requests of one user the server answers in a period; null where that is not known. `UPSTREAM_RATE_LIMIT` replaces it.",
  ),
  inputs: section({
    update: Inputs.shape.update.partial().optional(),
    restart: Inputs.shape.restart.partial().optional(),
  })
    .optional()
    .describe("What the commands `update` and `restart` take in their bodies."),
});
export type WrittenProfile = z.input<typeof WrittenProfile>;

/** How deep each section is merged; at 0 what is written replaces it. */
const DEPTHS: Readonly<Record<keyof Profile, number>> = {
  basePath: 0,
  apiVersion: 0,
  authorization: 1,
  endpoints: 2,
  paging: 0,
  orders: 1,
  metricOrders: 1,
  filters: 1,
  omittedInLists: 1,
  omitted: 1,
  rateLimit: 0,
  inputs: 2,
};

/** Extends a profile. */
export const extend = (base: Profile, written: z.output<typeof WrittenProfile>): Profile =>
  // Safe: a section that is merged has the keys of both, with their types.
  mapped(DEPTHS, (depth, name) => merge(base[name], written[name], depth)) as unknown as Profile;

function merge(base: unknown, written: unknown, depth: number): unknown {
  if (written === undefined) return base;
  if (depth === 0 || !isObject(base) || !isObject(written)) return written;
  return { ...base, ...mapped(written, (value, name) => merge(base[name], value, depth - 1)) };
}

/** Finds a contradiction between valid sections of a profile. Returns null without one. */
export const contradictionIn = ({ filters }: Profile): string | null =>
  filters.language !== null && filters.query === null
    ? "filters.query: expected the name of a query parameter, since filters.language is named, got null"
    : null;
