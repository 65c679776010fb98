import { GraphQLError } from "graphql";

/** An operation that asks for more than one may. It is no failure of the server: 400 where the caller reads the status. */
export const tooLarge = (
  message: string,
  code: "OPERATION_TOO_LARGE" | "OPERATION_TOO_DEEP" = "OPERATION_TOO_LARGE",
): GraphQLError => new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } });
