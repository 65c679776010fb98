import type { GraphQLError } from "graphql";
import { rejection } from "../errors.ts";

/** Creates the error of an operation that exceeds a limit. As `application/json` it is sent with status 200. */
export const tooLarge = (
  message: string,
  code: "OPERATION_TOO_LARGE" | "OPERATION_TOO_DEEP" = "OPERATION_TOO_LARGE",
): GraphQLError => rejection(message, code, { spec: true });
