import { GraphQLError } from "graphql";
import { statusOf } from "../../errors.ts";

/** Creates the error of an operation above a limit. The status applies to `application/graphql-response+json` only. */
export const tooLarge = (
  message: string,
  code: "OPERATION_TOO_LARGE" | "OPERATION_TOO_DEEP" = "OPERATION_TOO_LARGE",
): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { spec: true, status: statusOf(code) } } });
