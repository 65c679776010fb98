import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLString,
} from "graphql";

/* Directives of the draft of the specification. graphql-js has them from version 17 on. */

const condition = {
  type: new GraphQLNonNull(GraphQLBoolean),
  defaultValue: true,
  description: "Set to false to deliver it with the rest.",
};

const label = {
  type: GraphQLString,
  description: "Name of the part, unique in the document.",
};

export const defer = new GraphQLDirective({
  name: "defer",
  description:
    "Delivers the fields of a fragment after the rest of the result, where the caller accepts parts.",
  locations: [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
  args: { if: condition, label },
});

export const stream = new GraphQLDirective({
  name: "stream",
  description: "Delivers the items of a list after the rest of the result, where the caller accepts parts.",
  locations: [DirectiveLocation.FIELD],
  args: {
    if: condition,
    label,
    initialCount: {
      type: new GraphQLNonNull(GraphQLInt),
      defaultValue: 0,
      description: "Number of items that come with the rest.",
    },
  },
});
