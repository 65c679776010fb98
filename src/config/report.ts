import type { ConfigError } from "../config.ts";
import { findMisspelled } from "./misspelled.ts";

export const printError = (text: string) => process.stderr.write(`${text}\n`);

export function warnOfMisspelled(): void {
  for (const { given, meant } of findMisspelled(process.env))
    printError(`Warning: ${given} is no setting and has no effect. Was ${meant} meant?`);
}

/** Prints what is wrong with the settings of the environment. */
export function printFaults({ message }: ConfigError): void {
  warnOfMisspelled();
  printError(`The settings cannot be used:\n${message}`);
}
