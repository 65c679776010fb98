import { type GraphQLSchema, lexicographicSortSchema, printSchema, printType } from "graphql";
import { InputError } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import { withoutFederation } from "../../graphql/federation/sdl.ts";

/** The schema as text for agents. */
export interface Sdl {
  /** The whole schema. */
  readonly text: string;
  /** The definitions of some types, each once. Throws `InputError` for names that the schema does not have. */
  readonly ofTypes: (names: readonly string[]) => string;
}

/** Prints a schema without what federation adds. */
export function printForAgents(subgraph: GraphQLSchema): Sdl {
  const schema = lexicographicSortSchema(withoutFederation(subgraph));
  return {
    text: printSchema(schema),
    ofTypes: (names) => {
      const asked = [...new Set(names)];
      const types = asked.map((name) => {
        const type = schema.getType(name);
        if (type) return printType(type);
        throw new InputError(
          `types: expected names of types of the schema, such as Query, got ${quote(name)}`,
        );
      });
      return types.join("\n\n");
    },
  };
}
