import { type GraphQLSchema, isObjectType } from "graphql";
import type { FieldExtensions } from "../../engine/field-extensions.ts";
import { OMITTED_IN_LISTS } from "../../rest/api/profiles.ts";
import { kindsByName } from "./kinds.ts";

const COST = " Costs a request for each run of a list.";

/** Some fields need record keys that list items lack on known servers. Adds their cost to their descriptions. */
export function describeListCosts(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    const records = kindsByName.get(type.name)?.run?.records;
    const lacking = records === undefined ? undefined : OMITTED_IN_LISTS[records];
    if (!lacking || !isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const { keys = [] }: FieldExtensions = field.extensions;
      if (keys.some((key) => lacking.some((each) => each === key))) field.description += COST;
    }
  }
  return schema;
}
