import { type Config, ConfigError, readConfig, readTypeNames } from "./config.ts";
import { faultsOfNames, findMisspelled } from "./config/misspelled.ts";
import { hasPage } from "./config/parts.ts";
import type { Demo } from "./demo/service.ts";
import { createTypeNames } from "./graphql/core/kinds.ts";
import { printPlain, printSubgraph } from "./graphql/federation/sdl.ts";
import { schemaFor } from "./graphql/schema.ts";

const print = (text: string) => process.stdout.write(`${text}\n`);

export const printError = (text: string) => process.stderr.write(`${text}\n`);

export function warnOfMisspelled(): void {
  for (const { given, meant } of findMisspelled(process.env))
    printError(`Warning: ${given} is no setting and has no effect. Was ${meant} meant?`);
}

const printFaultLines = (lines: string) => printError(`The settings cannot be used:\n${lines}`);

/** Prints what is wrong with the settings of the environment. */
export function printFaults({ message }: ConfigError): void {
  warnOfMisspelled();
  printFaultLines(message);
}

const PRINTERS = { plain: printPlain, subgraph: printSubgraph };

/** Prints what `read` makes of the environment. Returns the exit code. */
function printed(read: (environment: NodeJS.ProcessEnv) => string): number {
  try {
    process.stdout.write(read(process.env));
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printFaults(error);
    return 1;
  }
}

/** The lines that say why the settings of the environment cannot be used. */
function faultsOfValues(): string[] {
  try {
    readConfig(process.env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split("\n");
    throw error;
  }
}

/**
 * Says whether the gateway would start with the settings of the environment, and whether each variable that looks like a
 * setting is one. Returns the exit code.
 */
export function checkConfig(): number {
  const faults = [...faultsOfNames(process.env), ...faultsOfValues()];
  if (faults.length > 0) printFaultLines(faults.join("\n"));
  else print("ok");
  return faults.length > 0 ? 1 : 0;
}

export const printSchema = (form: keyof typeof PRINTERS): number =>
  printed((environment) => PRINTERS[form](schemaFor(createTypeNames(readTypeNames(environment)))));

/** Wildcard addresses, and the loopback address that a local browser can open instead. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Prints where the gateway listens, and with the demo how to sign in. */
export function welcome(config: Config, port: number, demo: Pick<Demo, "users"> | null): void {
  const host = ALL_ADDRESSES[config.HOST] ?? config.HOST;
  const graphql = `http://${host.includes(":") ? `[${host}]` : host}:${port}/graphql`;
  const isPageOn = hasPage(config);
  print(`\nRungraph is ready: ${graphql}${isPageOn ? "  (GraphiQL in a browser)" : ""}`);
  if (!demo) {
    print(`Every request needs the header  Authorization: token <your token>\n`);
    return;
  }
  const width = Math.max(...demo.users.map(({ username }) => username.length));
  print("\nThe embedded demo service is behind it. Sign in as");
  for (const { username, password, isSuperuser, isActive } of demo.users) {
    const note = isSuperuser ? "  (superuser)" : isActive ? "" : "  (waits to be activated by ada)";
    print(`  ${username.padEnd(width)}  password ${password}${note}`);
  }
  print(`\nor send this header${isPageOn ? " (GraphiQL has it already)" : ""}:`);
  print(`  Authorization: token ${demo.users[0]?.token}\n`);
  if (config.TRUSTED_DOCUMENTS) {
    print("Only the documents of TRUSTED_DOCUMENTS are run, by their hashes.\n");
    return;
  }
  print("One request to try:");
  print(
    `  curl ${graphql} -H 'content-type: application/json' -H 'authorization: token ${demo.users[0]?.token}' \\`,
  );
  print(
    `    -d '{"query":"{ experiment(id: \\"ada.mnist.42\\") { uniqueName status buildJob { uniqueName commit } } }"}'\n`,
  );
}
