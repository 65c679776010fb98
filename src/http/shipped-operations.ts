import { readdirSync, readFileSync } from "node:fs";
import { FOLDER } from "../installation.ts";
import type { TypeNames } from "../graphql/core/kinds.ts";
import { renameDocument } from "../graphql/federation/rename.ts";

const OPERATIONS = new URL("schema/operations/", FOLDER);
const SIGN_IN = "01-sign-in.graphql";

/** An operation that comes with the gateway: a tab of GraphiQL, a tool for agents. */
export interface ShippedOperation {
  /** `02-start-page.graphql` */
  readonly file: string;
  /** Its text, with the public names. */
  readonly text: string;
}

/** The operation that signs in. */
export const signInOperation = (names: TypeNames): string => read(SIGN_IN, names);

/** All operations except the sign-in, in the order of their numbers. */
export const shippedOperations = (names: TypeNames): ShippedOperation[] =>
  readdirSync(OPERATIONS)
    .filter((file) => file.endsWith(".graphql") && file !== SIGN_IN)
    .toSorted()
    .map((file) => ({ file, text: read(file, names) }));

/** Variables by file that name records of the demo. */
export const readDemoVariables = () => JSON.parse(readText("demo-variables.json")) as Record<string, object>;

const readText = (file: string): string => readFileSync(new URL(file, OPERATIONS), "utf8");

const read = (file: string, names: TypeNames): string => renameDocument(readText(file), names);
