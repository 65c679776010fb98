import { ConfigError, readConfig, readTypeNames } from "./config.ts";
import { printFaults, warnOfMisspelled } from "./config/report.ts";
import { createTypeNames } from "./graphql/core/type-names.ts";
import { printPlain, printSubgraph } from "./graphql/federation/sdl.ts";
import { schemaFor } from "./graphql/schema.ts";

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

/** Says whether the gateway would start with the settings of the environment. */
export const checkConfig = (): number =>
  printed((environment) => {
    readConfig(environment);
    warnOfMisspelled();
    return "ok\n";
  });

export const printSchema = (form: keyof typeof PRINTERS): number =>
  printed((environment) => PRINTERS[form](schemaFor(createTypeNames(readTypeNames(environment)))));
