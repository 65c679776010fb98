import type { GraphQLError } from "graphql";
import { rejection } from "../errors.ts";

/** Rejects an operation that asks for more than one may, with the code's status where the caller reads the status. */
export const tooLarge = (
  message: string,
  code: "OPERATION_TOO_LARGE" | "OPERATION_TOO_DEEP" = "OPERATION_TOO_LARGE",
): GraphQLError => rejection(message, code, { spec: true });
