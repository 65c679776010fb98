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
  description: "Whether the directive has an effect.",
};

const label = {
  type: GraphQLString,
  description: "Name of the part, which its announcement repeats. Unique in the document, and no variable.",
};

export const defer = new GraphQLDirective({
  name: "defer",
  description:
    "Delivers the fields of a fragment after the rest of the result, to callers that accept results in pieces; to others with the rest.",
  locations: [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
  args: { if: condition, label },
});

export const stream = new GraphQLDirective({
  name: "stream",
  description:
    "Delivers the items of a list after the rest of the result, to callers that accept results in pieces; to others with the rest.",
  locations: [DirectiveLocation.FIELD],
  args: {
    if: condition,
    label,
    initialCount: {
      type: new GraphQLNonNull(GraphQLInt),
      defaultValue: 0,
      description: "Number of items that are delivered with the rest, 0 or more.",
    },
  },
});
