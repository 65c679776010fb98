import { graphql } from "./generated/index.ts";

export const comparedFragment = graphql(`
  fragment Compared on ComparedValues {
    name
    differs
    values
  }
`);
